"""Pages of the declared studies as parts of rules: inputs, outputs with their report, parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from attention_atlas.io.html_pages import ASSETS
from attention_atlas.workflow.inputs import study_inputs
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.page import Page, PageValue
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.render import COPY, PICTURES
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.study import Study

REPORTED_KINDS = {".svg": "figure", ".html": "table"}
"""Suffix of an output in the report -> kind of its artefact."""
Report = Callable[..., Any]
"""Snakemake's `report`, which marks an output for the report."""


@dataclass(frozen=True)
class PageRule:
    """The parts of a page's rule."""

    page: Page
    study: Study
    inputs: StudyInputs

    @property
    def name(self) -> str:
        """The page's name within its study, also used for its log."""
        return self.page.rule.removeprefix(f"{self.study.id}_")

    @property
    def group(self) -> str | None:
        """Group of pages that share a cluster job: by study, or all overviews; None for a page with a separate job."""
        return f"{'atlas' if self.study.overview else self.study.id}_pages" if self.page.grouped else None

    def path(self, name: str) -> str:
        """A file of the study, for the run in the path."""
        return self.study.path(name, "{run}")

    def unnamed_files(self) -> list[Any]:
        """Inputs that the page's parameters name."""
        return [self._file(value) for value in self.page.reads]

    def files(self) -> dict[str, Any]:
        """Inputs by parameter."""
        return {parameter: self._file(value) for parameter, value in self.page.inputs.items()}

    def outputs(self, report: Report) -> dict[str, Any]:
        """Outputs by parameter; the SVG of a figure and the page of a table are part of the report."""
        named = {**self.page.outputs, **{f"{COPY}{parameter}": name for name, parameter in self.page.copies.items()}}
        if self.page.pictures:
            named |= {kind: f"{self.page.pictures}.{kind}" for kind in PICTURES}
        return {parameter: self._reported(name, report) for parameter, name in named.items()}

    def params(self) -> dict[str, Any]:
        """Function, its arguments, the links of its pages, and the digest of its code."""
        page = self.page
        arguments = {parameter: self._parameter(value) for parameter, value in page.params.items()}
        resources = (*page.resources, *(ASSETS if self._html() else ()))
        code = script_digest("render.py", *resources, modules=(page.module,))
        return {"function": page.function, **arguments, "links": self.inputs.links(**self._html()), "code": code}

    def _html(self) -> dict[str, str]:
        """Outputs that are HTML pages: parameter -> file."""
        return {parameter: name for parameter, name in self.page.outputs.items() if name.endswith(".html")}

    def _file(self, value: PageValue) -> Any:
        return self.study.measured_path(value, "{run}") if isinstance(value, str) else self._resolved(value)

    def _parameter(self, value: PageValue) -> Any:
        resolved = self._resolved(value)
        return self.inputs.placed(resolved) if callable(resolved) else resolved

    def _resolved(self, value: PageValue) -> Any:
        if isinstance(value, str):
            return value
        method, *arguments = value
        function = getattr(self.inputs, method)
        return function(*arguments) if arguments else function

    def _reported(self, name: str, report: Report) -> Any:
        file = PurePosixPath(name)
        artifact = self.page.reported.get(name)
        kinds = {artifact.id: artifact.kind for artifact in self.study.artifacts}
        if artifact is None and kinds.get(file.stem) == REPORTED_KINDS.get(file.suffix, "none"):
            artifact = file.stem
        return report(self.path(name), **self.inputs.about(artifact)) if artifact else self.path(name)


def page_rules(config: Config) -> Iterator[PageRule]:
    """The rules of all pages of all declared studies."""
    for study in studies().values():
        if study.pages:
            inputs = study_inputs(config, study.id)
            yield from (PageRule(page, study, inputs) for page in study.pages)
