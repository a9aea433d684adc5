"""The manifest of artefacts and the published values: complete, consistent, and made by a rule."""

import re
from collections import Counter
from pathlib import Path

import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.published.values import load_published
from attention_atlas.workflow.manifest import MANIFEST_PATH, find_artifact, load_manifest
from attention_atlas.workflow.runs import ROLES

WORKFLOW = MANIFEST_PATH.parents[1]
ARTIFACTS = load_manifest()
NAMES = [f"{a.study}/{a.id}" for a in ARTIFACTS]


def outputs_of_rules() -> set[str]:
    """Every path below results/{run} that stands in an output block of a rule."""
    found = set()
    for path in sorted((WORKFLOW / "rules").glob("*.smk")):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^    output:\n((?: {8}.*\n|\n)+)", text, flags=re.M):
            found.update(re.findall(r'"(results/\{run\}/[^"]+)"', block))
    return found


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES) > 0
    paths = [path for a in ARTIFACTS for path in a.paths("r")]
    assert len(set(paths)) == len(paths)
    for study in {a.study for a in ARTIFACTS}:
        numbers = [a.number for a in ARTIFACTS if a.study == study]
        assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=NAMES)
def test_an_artefact_has_the_files_of_its_kind(artifact):
    # The report and the links in the README take the first file.
    suffixes = {Path(name).suffix for name in artifact.files}
    if artifact.kind == "figure":
        assert list(artifact.files[:4]) == [f"{artifact.id}.{s}" for s in ("svg", "png", "pdf", "tsv")]
        # Further tables, and pages of the numbers or of the same picture to browse.
        assert {Path(name).suffix for name in artifact.files[4:]} <= {".tsv", ".html"}
    else:
        assert artifact.kind == "table"
        assert suffixes == {".tsv", ".html"}
        assert {f"{artifact.id}.tsv", f"{artifact.id}.html"} <= set(artifact.files)
    assert artifact.title
    assert artifact.number
    assert artifact.category
    # Tasks are no roles, and every run of a study with tasks names some; what is made of all studies needs none by name.
    assert artifact.needs or artifact.study in ("kovaleva2019", "tenney2019", "atlas", "scoreboard")
    # Further models are no roles either.
    assert {*artifact.needs, *artifact.uses} <= {*ROLES[artifact.study], "other_model", "compared"}


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=NAMES)
def test_an_artefact_has_a_caption(artifact):
    caption = WORKFLOW / "report" / artifact.study / f"{artifact.id}.rst"
    text = caption.read_text(encoding="utf-8")
    assert len(text.split()) > 10
    assert "{{ snakemake.wildcards.run }}" in text


def test_there_is_no_caption_without_an_artefact():
    captions = {f"{path.parent.name}/{path.stem}" for path in (WORKFLOW / "report").glob("*/*.rst")}
    assert captions == set(NAMES)


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=NAMES)
def test_every_file_is_the_output_of_a_rule(artifact):
    outputs = outputs_of_rules()
    assert set(artifact.paths("{run}")) <= outputs


def test_an_artefact_that_is_not_there_is_an_error():
    assert find_artifact("clark2019", "table1").number == "Table 1"
    with pytest.raises(KeyError, match=r"clark2019/table9 is not in artifacts\.yaml"):
        find_artifact("clark2019", "table9")


# --- published values ------------------------------------------------------------------------------------------------


def test_published_values_have_their_fields():
    published = load_published("clark2019")
    assert len(published) == 183
    for identifier, entry in published.items():
        for field in ("id", "item", "quantity", "value", "unit", "source", "kind", "paper"):
            assert entry.get(field) is not None, (identifier, field)
        assert entry["id"] == identifier
        assert entry["paper"] == "clark2019"
        for value in entry["value"] if isinstance(entry["value"], list) else [entry["value"]]:
            assert isinstance(value, int | float) or re.fullmatch(r"\d+-\d+", value), identifier


def test_published_values_by_kind():
    published = load_published("clark2019")
    kinds = Counter(entry["kind"] for entry in published.values())
    assert set(kinds) == {"paper", "authors_notebook", "digitised", "replication", "user_report"}
    digitised = [entry for entry in published.values() if entry["kind"] == "digitised"]
    assert all(0 < entry["abs_tol"] < 0.1 for entry in digitised)
    per_layer = [entry for entry in digitised if "per layer" in entry["quantity"]]
    assert len(per_layer) == 7
    assert all(len(entry["value"]) == 12 for entry in per_layer)


def test_published_table_1_as_the_specification_has_it():
    published = load_published("clark2019")
    rows = {
        name.removeprefix("t1_").removesuffix("_acc"): (
            entry["head"],
            entry["value"],
            published[name[:-3] + "baseline"]["value"],
        )
        for name, entry in published.items()
        if re.fullmatch(r"t1_\w+_acc", name)
    }
    assert len(rows) == 15
    assert rows["dobj"] == ("8-10", 86.8, 40.0)
    assert rows["all"] == ("7-6", 34.5, 26.3)
    assert rows["auxpass"] == ("4-10", 82.5, 40.5)
    assert published["nb_t1_auxpass_acc"]["value"] == 94.1
    assert published["nb_t1_auxpass_baseline"]["value"] == 82.5
    # Thirteen of the fourteen relations are the same in the authors' notebook; the row All is not.
    parting = {
        r
        for r, row in rows.items()
        if (row[1], row[2]) != tuple(published[f"nb_t1_{r}_{c}"]["value"] for c in ("acc", "baseline"))
    }
    assert parting == {"all", "auxpass"}


def test_a_study_without_published_values_is_an_error():
    with pytest.raises(AtlasError, match=r"nobody2000\.yaml: there are no published values of study nobody2000"):
        load_published("nobody2000")


def test_an_id_given_twice_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "s.yaml").write_text("- {id: a, value: 1}\n- {id: a, value: 2}\n", encoding="utf-8")
    monkeypatch.setattr("attention_atlas.published.values._FOLDER", tmp_path)
    with pytest.raises(AtlasError, match="an id is given twice"):
        load_published("s")
