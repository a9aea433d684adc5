"""Declaration of the scoreboard: published values and claims of all studies of a run, and the index page of its artefacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attention_atlas.workflow.paths import card_path
from attention_atlas.workflow.study import Study, shown_artifacts, studies, study_corpora

if TYPE_CHECKING:
    from attention_atlas.workflow.study_inputs import StudyInputs

ID = "scoreboard"


def tables(inputs: StudyInputs, run: str, name: str) -> dict[str, str]:
    """Study -> its table of this name, for studies that have one."""
    built = inputs.built_tables(run)
    return {study: built[f"{study}/{name}"] for study in studies() if f"{study}/{name}" in built}


def generated(inputs: StudyInputs, run: str) -> bool:
    """Whether a run reads generated text."""
    config, settings = inputs.config, inputs.config["runs"][run]
    corpora = [corpus for name in studies() if name in settings for corpus in study_corpora(config, run, name).values()]
    return settings["stand_ins"] or any("sample" in config["corpora"][corpus]["source"] for corpus in corpora)


def built(inputs: StudyInputs, run: str) -> dict[str, str]:
    """All files of the artefacts that a run builds, below its folder -> path."""
    paths = [path for entry in inputs.listed(run) if not entry.skipped for path in entry.paths(run)]
    return {path.removeprefix(f"results/{run}/"): path for path in paths}


def cards(inputs: StudyInputs, run: str) -> dict[str, str]:
    """The run's model, if it has one -> its card."""
    model = inputs.config["runs"][run].get("model")
    return {model: card_path(run, model)} if model else {}


def entries(inputs: StudyInputs, run: str) -> list[dict[str, Any]]:
    """Entry of each artefact on the index page, see `tables.index`."""
    return [
        {"study": entry.study.id, "study_title": entry.study.title, "skipped": entry.skipped}
        | {name: getattr(entry.artifact, name) for name in ("number", "title", "kind")}
        | {"files": [path.removeprefix(f"results/{run}/") for path in entry.paths(run)]}
        for entry in inputs.listed(run)
    ]


def first_pages(inputs: StudyInputs, run: str) -> dict[str, str]:
    """Pages to read first: path below the folder of the run -> title."""
    pages = {"scoreboard.html": "Scoreboard", "claims.html": "Claims", "atlas/atlas.html": "Atlas of all heads"}
    files = built(inputs, run)
    return {page: title for page, title in pages.items() if page in files}


STUDY = Study(
    id=ID,
    order=2,
    title="Scoreboard: all studies and this run",
    description="Every published value of all studies of the run, in one table.",
    artifacts=shown_artifacts(ID),
    inputs={
        "comparisons": lambda inputs, run: tables(inputs, run, "comparison"),
        "claims_of": lambda inputs, run: tables(inputs, run, "claims"),
        "generated": generated,
        "built": built,
        "cards": cards,
        "entries": entries,
        "first_pages": first_pages,
    },
    names_models=True,
    overview=True,
    folder="",
)
