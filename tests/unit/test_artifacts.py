"""The declared artefacts: complete, consistent, and made by a rule."""

import re
from pathlib import Path

import pytest
from shipped_runs import shipped

from attention_atlas.workflow.pages import page_rules
from attention_atlas.workflow.studies import artifacts, studies, study

WORKFLOW = Path(__file__).parents[2] / "workflow"
ARTIFACTS = artifacts()
NAMES = [f"{declared.id}/{artifact.id}" for declared, artifact in ARTIFACTS]


def outputs_of_rules() -> set[str]:
    """Every path below results/{run} that stands in an output block of a rule, or that a page declares."""
    paths = {path for rule in page_rules(shipped()) for path in rule.outputs(lambda path, **about: path).values()}
    for path in sorted((WORKFLOW / "rules").glob("*.smk")):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^    output:\n((?: {8}.*\n|\n)+)", text, flags=re.M):
            paths.update(re.findall(r'"(results/\{run\}/[^"]+)"', block))
    return paths


OUTPUTS = outputs_of_rules()


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES) > 0
    paths = [path for declared, artifact in ARTIFACTS for path in declared.paths(artifact, "r")]
    assert len(set(paths)) == len(paths)
    for declared in studies().values():
        numbers = [artifact.number for artifact in declared.artifacts]
        assert len(set(numbers)) == len(numbers) > 0


@pytest.mark.parametrize(("declared", "artifact"), ARTIFACTS, ids=NAMES)
def test_an_artefact_has_the_files_of_its_kind(declared, artifact):
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
    assert declared.title
    # Tasks are no roles, and every run of a study with tasks names some; what is made of all studies needs none by name.
    assert artifact.needs or declared.id in ("kovaleva2019", "tenney2019", "atlas", "scoreboard")
    # Further models are no roles either.
    assert {*artifact.needs, *artifact.uses} <= {*declared.roles, "other_model", "compared"}


@pytest.mark.parametrize(("declared", "artifact"), ARTIFACTS, ids=NAMES)
def test_an_artefact_has_a_caption(declared, artifact):
    caption = WORKFLOW / "report" / declared.id / f"{artifact.id}.rst"
    text = caption.read_text(encoding="utf-8")
    assert len(text.split()) > 10
    assert "{{ snakemake.wildcards.run }}" in text


def test_there_is_no_caption_without_an_artefact():
    captions = {f"{path.parent.name}/{path.stem}" for path in (WORKFLOW / "report").glob("*/*.rst")}
    assert captions == set(NAMES)


@pytest.mark.parametrize(("declared", "artifact"), ARTIFACTS, ids=NAMES)
def test_every_file_is_the_output_of_a_rule(declared, artifact):
    assert set(declared.paths(artifact, "{run}")) <= OUTPUTS


def test_files_lie_in_the_folder_of_their_study_or_of_the_run():
    clark, scoreboard = study("clark2019"), study("scoreboard")
    assert clark.paths(clark.artifact("noop"), "r") == ["results/r/clark2019/noop.tsv", "results/r/clark2019/noop.html"]
    assert scoreboard.paths(scoreboard.artifact("claims"), "r") == ["results/r/claims.tsv", "results/r/claims.html"]


def test_an_artefact_that_is_not_there_is_an_error():
    assert study("clark2019").artifact("table1").number == "Table 1"
    with pytest.raises(KeyError, match="clark2019 declares no artefact table9"):
        study("clark2019").artifact("table9")
    with pytest.raises(KeyError, match="nobody2000"):
        study("nobody2000")
