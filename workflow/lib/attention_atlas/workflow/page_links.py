"""Links on the page of a table: its TSV files, its figure, the comparison with the paper, and the paper."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.needs import is_part_of
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.study import Artifact, Study

Links = list[tuple[str, str]]
"""Text and address of each link."""
_FIGURES = re.compile(r"Figures? [\w.]+(?: and [\w.]+)?")
_COMPARISON = "comparison"


def page_links(config: Config, run: str, study: Study, name: str) -> Links:
    """Links of one page of a study in a run; none for a page that belongs to no artefact.

    Args:
        config: the resolved configuration.
        run: its name.
        study: the study.
        name: file of the page below the study's folder, such as table1.html.
    """
    artifact = next((artifact for artifact in study.artifacts if name in artifact.files), None)
    # The atlas of heads has no table with its name.
    if artifact is None or (study.overview and f"{PurePosixPath(name).stem}.tsv" not in artifact.files):
        return []
    built = [each for each in study.artifacts if is_part_of(config, run, study, each)]
    tables = [file for file in artifact.files if file.endswith(".tsv")]
    links = [(f"TSV: {file}", _relative(file, name)) for file in tables]
    links += [
        (f"{figure.number}: {file}", _relative(file, name))
        for figure in _figures(artifact, built)
        for file in _pictures(figure)
    ]
    if artifact.id != _COMPARISON and any(each.id == _COMPARISON for each in built):
        links.append((f"Comparison with the paper{'s' if study.overview else ''}", _relative(f"{_COMPARISON}.html", name)))
    sources = [each for each in studies().values() if each.id in config["runs"][run]] if study.overview else [study]
    papers = [each.paper for each in sources if each.paper is not None and each.paper.url]
    return [*links, *((f"Paper: {paper.citation}", paper.url) for paper in papers)]


def _figures(artifact: Artifact, built: list[Artifact]) -> list[Artifact]:
    """The figures that an artefact belongs to: itself, or those named in its number (`Figure 3, variants`)."""
    if artifact.kind == "figure":
        return [artifact]
    match = _FIGURES.match(artifact.number)
    numbers = {f"Figure {number}" for number in re.findall(r"[\w.]*\d[\w.]*", match[0])} if match else set()
    return [figure for figure in built if figure.kind == "figure" and figure.number in numbers]


def _pictures(figure: Artifact) -> list[str]:
    return [file for file in figure.files if file.endswith((".svg", ".pdf"))]


def _relative(file: str, page: str) -> str:
    """Address of a file from a page; both are below the study's folder."""
    return "../" * (len(PurePosixPath(page).parts) - 1) + file
