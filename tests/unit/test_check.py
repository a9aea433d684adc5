"""What a run needs and what is missing, as an error and skipped; which readers take a file of the user."""

import json

import pytest
import yaml
from small_config import SHIPPED, SMALL, changed, give_model

from attention_atlas.workflow import check
from attention_atlas.workflow.check import check_corpus, check_run, fault_of
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.requirements import (
    DOWNLOADED,
    MISSING,
    PRESENT,
    corpus_requirement,
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


def test_published_values_that_a_run_could_match_are_named(complete):
    assert "could match" not in checked()[0]
    raw = changed("models/tiny/reference", "bert-base-uncased", changed("corpora/pairs/reference", "wikipedia-segments"))
    assert "It could match values of clark2019 by chance (trained or sampled again, or read off a figure): Section 3.2 (1)" in (
        " ".join(checked(raw)[0].split())
    )


def needed(raw):
    config = resolve(raw)
    return {f"{one.kind} {one.name}": one for one in needed_resources(config, without_missing(config), artifacts_of(config))}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (TREES, f"corpus trees: {TREES} does not exist"),
        ("models/tiny/config.json", "model tiny: the folder models/tiny has no"),
    ],
)
def test_a_file_that_is_missing_alone_is_named_first(complete, name, problem):
    text, good = checked()
    assert text.splitlines()[0] == "Run one can be built: 0 missing, 0 wrong, 0 to be downloaded, 2 present."
    (complete / name).unlink()
    text, good = checked()
    assert not good
    summary, _, _, first, *_ = text.splitlines()
    assert summary == "Run one cannot be built: 1 missing, 0 wrong, 0 to be downloaded, 1 present."
    assert first.startswith(f"missing           {problem}")
    assert checked(missing="skip")[1], "what is skipped is no failure"
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
    assert text.startswith("Run one cannot be built: 0 missing, 1 wrong, 0 to be downloaded, 1 present.")
    assert text.splitlines()[3].startswith("wrong  ")
    assert f"corpus trees: {TREES}:1: " in text


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
    copy = complete / "mirror" / "ud" / "trees.conllu"
    copy.parent.mkdir(parents=True)
    copy.write_text(TREE, encoding="utf-8")
    copied = corpus_requirement(resolve(base | {"data_mirror": str(complete / "mirror")}), "trees")
    assert (copied.state, copied.place) == (PRESENT, str(copy))


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
    assert (reduced["variants"], reduced["dependencies"]) == ({}, "trees")
    by_title = needed(raw | {"missing": "skip"})
    assert by_title["corpus chains"].skipped == ["clark2019/table2"]
    # Without its control a table has one column less; without its corpus an artefact has others.
    assert by_title["model control"].skipped == []
    assert "clark2019/table1" in by_title["model control"].lacks
    assert "clark2019/claims" in by_title["corpus chains"].lacks


CONLL2012 = "#begin document (a); part 000\n" + "".join(
    f"a 0 {k} {word} NN {parse} - - - - * {chain}\n"
    for k, (word, parse, chain) in enumerate([("the", "(TOP(NP*", "(1"), ("cat", "*", "1)"), ("cat", "*))", "(1)")])
)
UNCHAINED = CONLL2012.replace("* (1\n", "* -\n").replace("* 1)\n", "* -\n").replace("* (1)\n", "* -\n")


UD = TREE.replace("2\tdet\t_", "2\tobj\t_")
FRENCH, ENGLISH = "le chat et la table de fer", "the cat and the table of iron"
WSJ = {"reader": "conllu", "relations": ["dobj", "pobj"]}
ONTONOTES = {"reader": "edges", "format": "conll2012", "edge_tasks": ["coreference", "roles"]}
TEXT = "the cat. the cat.\nthe cat the\n\ncat the\nthe\n"
PARALLEL = {"reader": "parallel", "languages": ["en", "fr"]}


def pairs(english, french):
    return (json.dumps({"en": english, "fr": french}) + "\n") * 9


@pytest.mark.parametrize(
    ("entry", "content", "fault"),
    [
        (WSJ, UD * 60, "its first records (60) have none of the relations dobj, pobj, but obj, root: it is annotated"),
        ({"reader": "glue", "task": "sst2"}, "sentence\tlabel\nthe cat\t5\ncat\t1\n", "its labels are 1, 5, not 0 and 1."),
        ({"reader": "conllu"}, TREE + TREE.replace("\t2\tdet", "\t7\tdet"), "mine:4"),
        ({"reader": "conll2012"}, {"a.v4_gold_conll": CONLL2012}, ""),
        ({"reader": "conll2012"}, {"a.v4_gold_conll": UNCHAINED}, "records (1) have no coreference chains in the last column."),
        (ONTONOTES, {"a.v4_gold_conll": CONLL2012}, "its first records have no targets for roles."),
        (PARALLEL, pairs(FRENCH, ENGLISH), "its first records (9) have texts in 'fr' where 'en' is needed"),
        (PARALLEL, pairs(ENGLISH, FRENCH), ""),
    ],
)
def test_a_users_file_is_compared_with_what_its_entry_says(tmp_path, entry, content, fault):
    path = tmp_path / "mine"
    for name, text in content.items() if isinstance(content, dict) else [("", content)]:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    mine = {"source": {"path": str(path)}, "limit": 5000, **entry}
    message = fault_of(resolve(merged(SHIPPED, {"corpora": {"mine": mine}})), "mine")
    assert message.startswith(str(path) if fault else "")
    assert fault in message
    assert bool(message) == bool(fault)


def test_disk_that_does_not_suffice_is_a_failure(complete, monkeypatch):
    assert checked()[1]
    monkeypatch.setattr(check, "disk_space", lambda config, needed: ("Too small.", False))
    text, good = checked()
    assert (text.splitlines()[1], good) == ("Too small.", False)


@pytest.mark.parametrize(
    ("content", "readers", "first"),
    [
        (TREE * 2, "conllu; edges, conllu", "yes  conllu: 2 records read, dropped: none"),
        pytest.param(TEXT, "segments", "yes  segments: 2 records read, dropped: none", marks=pytest.mark.long),
    ],
)
def test_readers_that_take_a_file_are_named_with_an_entry_for_it(tmp_path, content, readers, first):
    path = tmp_path / "mine.txt"
    path.write_text(content, encoding="utf-8")
    text, good = check_corpus(path, SHIPPED)
    summary, _, line, *rest = text.splitlines()
    assert summary.endswith(f"readers can read it ({readers}).")
    assert line.startswith(first)
    assert good
    added = yaml.safe_load("\n".join(rest[2 : rest.index("", 2)]))
    assert resolve(merged(SHIPPED, added))["corpora"]["mine"]["reader"] == readers.split(";")[0]
    assert all(str(path) in refused for refused in rest if refused.startswith("no   "))
