"""The declared artefacts: complete, consistent, and made by a rule."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils.core import publish_doctree
from jinja2 import Environment
from shipped_runs import shipped

from attention_atlas.workflow.shown import shown
from attention_atlas.workflow.study import artifacts, captions, studies, study
from attention_atlas.workflow.study_inputs import StudyInputs

WORKFLOW = Path(__file__).parents[2] / "workflow"
ARTIFACTS = artifacts()
NAMES = [f"{declared.id}/{artifact.id}" for declared, artifact in ARTIFACTS]


def outputs_of_rules() -> set[str]:
    """Every path below results/{run} that stands in an output block of a rule, or that a mark declares."""
    paths = {
        declared.path(file, "{run}")
        for declared in studies().values()
        for item in shown(declared.id)
        for file in item.outputs.values()
    }
    for path in sorted((WORKFLOW / "rules").glob("*.smk")):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^    output:\n((?: {8}.*\n|\n)+)", text, flags=re.M):
            paths.update(re.findall(r'"(results/\{run\}/[^"]+)"', block))
    return paths


# Variants of a run have the same tables in folders of their own.
OUTPUTS = {path.replace("{variant}", "") for path in outputs_of_rules()}


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES) > 0
    paths = [path for declared, artifact in ARTIFACTS for path in declared.paths(artifact, "r")]
    assert len(set(paths)) == len(paths)
    assert len({declared.title for declared in studies().values()}) == len(studies())
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
    assert {*artifact.needs, *artifact.uses} <= {*declared.roles, "second_model", "compared", "variants"}


@pytest.mark.parametrize(("declared", "artifact"), ARTIFACTS, ids=NAMES)
def test_an_artefact_has_a_caption(declared, artifact):
    assert len(artifact.caption.split()) > 6
    assert artifact.caption == " ".join(artifact.caption.split())
    assert artifact.caption.endswith(".")
    # Snakemake's report reads captions as reStructuredText, where a lone asterisk starts emphasis; a warning is raised.
    publish_doctree(artifact.caption, settings_overrides={"report_level": 1, "halt_level": 1})


@pytest.mark.parametrize(
    "item", [item for name in studies() for item in shown(name)], ids=lambda item: f"{item.study}-{item.id}"
)
def test_a_caption_has_at_most_60_words(item):
    assert 5 <= len(item.caption.split()) <= 60


@dataclass
class ReportedFile:
    """A file in the report, as Snakemake gives it to the template of captions."""

    path: Path
    category: SimpleNamespace
    labels: dict[str, str]
    caption: str = ""


@pytest.mark.parametrize("job", ["of all files", "of each file"])
def test_the_template_gives_each_file_in_the_report_its_caption(job):
    """Rendered as Snakemake does, whose template knows the outputs of the job, and does not know the file."""
    categories = {}
    for declared, artifact in ARTIFACTS:
        about = StudyInputs(shipped(), declared.id).about(artifact.id)
        suffix = ".svg" if artifact.kind == "figure" else ".html"
        file = next(Path(path) for path in declared.paths(artifact, "r") if path.endswith(suffix))
        listed = categories.setdefault(about["category"], {None: []})[None]
        listed.append(ReportedFile(file, SimpleNamespace(name=about["category"]), about["labels"]))
    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((WORKFLOW / "report/artifact.rst").read_text(encoding="utf-8"))
    for category in categories.values():
        category[None].sort(key=lambda file: file.path.name)
        for file in category[None]:
            output = [str(file.path)] if job == "of each file" else [str(file.path) for file in category[None]]
            snakemake = {"config": {"captions": captions()}, "output": output, "wildcards": {"run": "r"}}
            file.caption = template.render(snakemake=snakemake, categories=categories)
    for declared, artifact in ARTIFACTS:
        (written,) = [file.caption for file in categories[declared.title][None] if file.labels["artefact"] == artifact.number]
        assert written == f"{artifact.caption} Run r."


@pytest.mark.parametrize(("declared", "artifact"), ARTIFACTS, ids=NAMES)
def test_every_file_is_the_output_of_a_rule(declared, artifact):
    assert set(declared.paths(artifact, "{run}")) <= OUTPUTS


def test_files_lie_in_the_folder_of_their_study_or_of_the_run():
    clark, scoreboard = study("clark2019"), study("scoreboard")
    assert clark.paths(clark.artifact("gap"), "r")[:2] == ["results/r/clark2019/gap.tsv", "results/r/clark2019/gap.html"]
    assert "results/r/claims.tsv" in scoreboard.paths(scoreboard.artifact("scoreboard"), "r")


def test_an_artefact_that_is_not_there_is_an_error():
    assert study("clark2019").artifact("table1").number == "Table 1"
    with pytest.raises(KeyError, match="clark2019 declares no artefact table9"):
        study("clark2019").artifact("table9")
    with pytest.raises(KeyError, match="nobody2000"):
        study("nobody2000")
