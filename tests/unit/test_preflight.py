"""What a run needs: each kind of requirement missing alone, as an error and skipped; disk and memory of the machine."""

import pytest
from small_config import SHIPPED, SMALL, changed, give_model

from attention_atlas.corpora.kept_rows import keeping
from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019 import study as kovaleva_study
from attention_atlas.workflow import requirements
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.needs import artifacts_of, needs, without_missing
from attention_atlas.workflow.preflight import COLUMNS, WIDTH, as_text, as_tsv, preflight
from attention_atlas.workflow.requirements import (
    DOWNLOADED,
    ENVIRONMENTS,
    MISSING,
    PRESENT,
    WRONG,
    corpus_requirement,
    model_requirement,
)

TREES = "nowhere/trees.conllu"
ABSENT_PACKAGE = {"package": "no-such-weights", "module": "no_such_weights_at_all"}


@pytest.fixture
def complete(without_files):
    """A working directory with all that the small run needs."""
    give_model(without_files, SMALL["models"]["tiny"])
    (without_files / "nowhere").mkdir()
    (without_files / TREES).touch()
    return without_files


def checked(base=SMALL, missing="error", **changes):
    return preflight(resolve(base | {"missing": missing} | changes), "one", [])


def states(outcome) -> dict[str, str]:
    return {need.requirement.title: need.requirement.state for group in outcome.groups for need in group}


def test_a_run_that_has_all_it_needs(complete):
    outcome = checked()
    assert states(outcome) == {"corpus trees": PRESENT, "model tiny": PRESENT}
    assert outcome.failures == []
    assert as_text(outcome).splitlines()[-1].startswith("run one can be built: 2 present,")


@pytest.mark.parametrize(
    ("name", "title", "problem"),
    [
        (TREES, "corpus trees", f"{TREES} does not exist"),
        ("models/tiny/config.json", "model tiny", "the folder models/tiny has no config.json"),
        (
            "models/tiny/model.safetensors",
            "model tiny",
            "the folder models/tiny has no weights (*.safetensors or pytorch_model*.bin)",
        ),
    ],
)
def test_a_file_that_is_missing_alone_is_named(complete, name, title, problem):
    (complete / name).unlink()
    outcome = checked()
    assert [state for state in states(outcome).items() if state[1] == MISSING] == [(title, MISSING)]
    assert [sentence.partition(". ")[0] for sentence in outcome.failures] == [f"{title}: {problem}"] or problem in (
        outcome.failures[0]
    )
    assert "run one cannot be built" in as_text(outcome)
    skipping = checked(missing="skip")
    assert skipping.failures == []
    skipped = {artifact for group in skipping.groups for need in group for artifact in need.skipped}
    assert "clark2019/table1" in skipped
    assert ("clark2019/figure2" in skipped) == title.startswith("model")
    assert "except for the skipped artefacts" in as_text(skipping)


@pytest.mark.parametrize("missing", ["error", "skip"])
def test_a_file_that_is_present_but_something_else_is_named(complete, missing):
    base = resolve(SMALL | {"missing": missing})
    outcome = preflight(base, "one", [], lambda corpus: f"{TREES}: it is a page." if corpus == "trees" else "")
    assert states(outcome) == {"corpus trees": WRONG, "model tiny": PRESENT}
    # Also where what is missing is skipped: the jobs would read it.
    assert outcome.failures == [f"corpus trees: {TREES}: it is a page."]
    assert f"WRONG       corpus trees: {TREES}: it is a page" in as_text(outcome)
    assert as_text(outcome).endswith("run one cannot be built: 1 present, 0 to be downloaded, 0 missing, 1 wrong.")


def test_a_file_with_fewer_records_than_its_limit_is_named(complete):
    (complete / TREES).write_text("1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n\n" * 3, encoding="utf-8")
    assert f"present     corpus trees: {TREES}: 3 records, but its limit is 10" in as_text(checked())


def test_a_model_whose_files_are_damaged_stops_only_runs_that_need_it(complete):
    (complete / "models" / "other").mkdir()
    (complete / "models" / "other" / "config.json").write_text("not JSON", encoding="utf-8")
    base = changed("models/other", {"source": {"path": "models/other"}, "layers": 2, "heads": 2})
    assert checked(base).failures == [], "the run does not need it"
    (complete / "models" / "tiny" / "config.json").write_text("not JSON", encoding="utf-8")
    (failure,) = checked(base).failures
    assert failure.startswith("model tiny: models/tiny: the configuration cannot be read")
    assert checked(base, "skip").failures == []


def test_what_is_missing_says_where_it_is_to_be_had(without_files):
    base = changed("corpora/trees", SMALL["corpora"]["trees"] | {"obtain": "catalog.ldc.upenn.edu/LDC99T42"})
    outcome = checked(base)
    assert "get it from catalog.ldc.upenn.edu/LDC99T42" in as_text(outcome)
    assert any("Get it from: catalog.ldc.upenn.edu/LDC99T42." in failure for failure in outcome.failures)
    header, *rows = [line.split("\t") for line in as_tsv(outcome).splitlines()]
    assert "catalog.ldc.upenn.edu/LDC99T42" in [row[header.index("obtain")] for row in rows]


def test_every_licensed_corpus_of_the_registry_says_where_it_is_to_be_had():
    entries = resolve(SHIPPED)["corpora"]
    provided = {name: entry for name, entry in entries.items() if str(entry["source"].get("path", "")).startswith("licensed/")}
    assert len(provided) > 30
    assert [name for name, entry in provided.items() if not entry.get("obtain")] == []


def test_a_mirror_folder_that_does_not_exist_is_named(complete, monkeypatch):
    assert "mirror" not in as_text(checked())
    assert "warning     the mirror folder nowhere/mirror does not exist" in as_text(checked(data_mirror="nowhere/mirror"))
    monkeypatch.setenv("ATLAS_DATA", "absent-folder")
    assert "the mirror folder absent-folder does not exist" in as_text(checked())


def test_rows_of_a_data_set_are_present_where_they_are_kept_and_not_where_only_its_card_is(complete, monkeypatch, tmp_path):
    commit = "1" * 40
    source = {"hub": "a/rows", "revision": commit, "split": "train", "column": "text", "rows": 30}
    base = changed("corpora/trees/source", source)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    card = tmp_path / "hub" / "hub" / "datasets--a--rows" / "snapshots" / commit / "README.md"
    card.parent.mkdir(parents=True)
    card.touch()
    assert states(checked(base))["corpus trees"] == DOWNLOADED
    entry = resolve(base)["corpora"]["trees"]
    drawing = {**source, "config": None, "order": entry["order"], "seed": entry["seed"], "written_as": "_write"}
    with keeping(drawing) as (raw, rows):
        raw.touch()
        assert states(checked(base))["corpus trees"] == DOWNLOADED, "not complete yet"
        rows.touch()
    assert states(checked(base))["corpus trees"] == PRESENT
    assert states(checked(changed("corpora/trees/source", source | {"rows": 40})))["corpus trees"] == DOWNLOADED


def test_a_package_with_weights_that_is_missing_alone(complete):
    base = changed("models/tiny/source", ABSENT_PACKAGE)
    (failure,) = checked(base).failures
    assert failure == "model tiny: the package no-such-weights is not installed (pip install no-such-weights)."
    assert checked(base, "skip").failures == []
    # Where jobs have environments of their own, it is not to be had here.
    assert model_requirement(resolve(base) | {ENVIRONMENTS: True}, "tiny").state == PRESENT


def test_an_installed_package_is_present():
    config = resolve(changed("models/tiny/source", {"package": "PyYAML", "module": "yaml"}))
    assert model_requirement(config, "tiny").state == PRESENT


@pytest.mark.parametrize("missing", ["error", "skip"])
def test_an_optional_package_that_is_missing_alone_is_no_failure(monkeypatch, without_files, missing):
    from small_config import with_family

    raw = with_family() | {"missing": missing}
    for entry in raw["corpora"].values():
        if "path" in entry["source"]:
            place = without_files / entry["source"]["path"]
            place.parent.mkdir(exist_ok=True)
            place.touch()
    give_model(without_files, raw["models"]["tiny"])
    for problem in ("", "no tagger"):
        monkeypatch.setattr(kovaleva_study, "missing_tagger", lambda name, problem=problem: problem)
        outcome = preflight(resolve(raw), "one", [])
        ((study, extra),) = outcome.extras
        assert (study, extra.problem, extra.artifacts) == (
            "kovaleva2019",
            problem,
            ("figure7", "features", "links", "options", "comparison"),
        )
        assert outcome.failures == []
        assert ("optional    package spaCy and its model" in as_text(outcome)) == bool(problem)
        assert (", 1 optional package missing." in as_text(outcome)) == bool(problem)


def test_what_jobs_download_is_downloaded_and_where_copies_are_is_present(complete, monkeypatch):
    base = changed("models/tiny", {"source": {"hub": "someone/tiny", "revision": "a" * 40}, "layers": 2, "heads": 2})
    url = {"url": "https://example.org/trees.conllu", "sha256": "0" * 64, "mirror": "ud/trees.conllu"}
    base = changed("corpora/trees/source", url, base)
    monkeypatch.setenv("HF_HOME", str(complete / "hub"))
    outcome = checked(base)
    assert states(outcome) == {"corpus trees": DOWNLOADED, "model tiny": DOWNLOADED}
    assert outcome.failures == []
    one = model_requirement(resolve(base), "tiny")
    # 2 layers of 128 numbers, and 30,522 word pieces, four bytes each.
    assert one.size == 4 * (12 * 2 * 128**2 + 30522 * 128)
    snapshot = complete / "hub" / "hub" / "models--someone--tiny" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    assert model_requirement(resolve(base), "tiny").state == DOWNLOADED, "its configuration alone was fetched"
    (snapshot / "model.safetensors").touch()
    cached = model_requirement(resolve(base), "tiny")
    assert (cached.state, cached.place) == (PRESENT, str(snapshot))
    placed = complete / "mirror" / "hub" / "models" / "someone" / "tiny"
    placed.mkdir(parents=True)
    (placed / "config.json").write_text("{}", encoding="utf-8")
    partial = model_requirement(resolve(base | {"data_mirror": str(complete / "mirror")}), "tiny")
    assert (partial.state, "has no weights" in partial.problem) == (MISSING, True)
    (complete / "mirror" / "ud").mkdir(parents=True)
    (complete / "mirror" / "ud" / "trees.conllu").touch()
    mirrored = corpus_requirement(resolve(base | {"data_mirror": str(complete / "mirror")}), "trees")
    assert (mirrored.state, mirrored.place) == (PRESENT, str(complete / "mirror" / "ud" / "trees.conllu"))


def test_generated_text_and_models_made_in_the_run_are_not_required():
    config = resolve(SMALL)
    assert corpus_requirement(config, "pairs") is None


def test_a_fine_tuned_model_needs_its_base_and_what_it_is_trained_on(without_files):
    from small_config import with_family

    config = resolve(with_family())
    titles = requirements.missing_requirements(config, ["small-rte-1"], [])
    assert set(titles) == {"model tiny", "corpus rte-train"}


def test_what_a_run_can_do_without_is_taken_out_of_its_settings_where_it_may_be_missing(complete):
    settings = SMALL["runs"]["one"]["clark2019"] | {
        "coreference": "chains",
        "random_model": "control",
        "variants": {"recipe": "other"},
    }
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
    by_title = {need.requirement.title: need for need in needs(skipping, without_missing(skipping), artifacts_of(skipping))}
    assert by_title["corpus chains"].skipped == ("clark2019/table2", "clark2019/table2_options")
    # Without its control a table has one column less; without its corpus an artefact has others.
    assert by_title["model control"].skipped == ()
    assert "clark2019/table1" in by_title["model control"].lacks
    assert "clark2019/claims" in by_title["corpus chains"].lacks


def test_disk_that_does_not_suffice(complete):
    for missing in ("error", "skip"):
        outcome = preflight(resolve(SMALL | {"missing": missing}), "one", ["disk: too small"])
        assert outcome.failures == ["disk: too small"]


def test_the_table_fits_a_terminal_and_a_file(complete):
    raw = changed("corpora/trees/licence", "LDC99T42 " * 30)
    (complete / TREES).unlink()
    outcome = checked(raw)
    lines = as_text(outcome).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[0] == f"MISSING     corpus trees: {TREES} does not exist"
    rows = [line.split("\t") for line in as_tsv(outcome).splitlines()]
    assert tuple(rows[0]) == COLUMNS
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert rows[1][:4] == ["missing", "corpus", "trees", TREES]


def test_an_unknown_run_is_one_sentence():
    with pytest.raises(AtlasError, match="there is no run 'on'; did you mean 'one'"):
        preflight(resolve(SMALL), "on", [])
