"""What a study declares: corpora, models, settings and artefacts.

A study is the folder `studies/{id}` with a module `study`, whose `STUDY` is a `Study`. Imports nothing heavy, since the
workflow reads all declarations at every start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from attention_atlas.io.data_files import SCHEMAS
from attention_atlas.methods.head_measures import Source
from attention_atlas.workflow.lookups import Config, Pair
from attention_atlas.workflow.page import Page

SETTINGS = SCHEMAS / "studies"
"""Folder with the schema of each study's settings; roles of corpora are added to it from the declaration."""


FIGURE_SUFFIXES = ("svg", "png", "pdf", "tsv")
"""Pictures of a figure, and its numbers."""


@dataclass(frozen=True)
class Role:
    """A key of a study's settings that names a corpus.

    Attributes:
        reader: the reader that the corpus needs.
        use: what the corpus is for.
        required: whether every run of the study names it; an artefact whose role a run does not name is not part of that run.
        model: key of the settings that names the model of this role; empty for the model of the study.
        example: a corpus for the documentation, where no shipped run names one.
    """

    reader: str
    use: str
    required: bool = False
    model: str = ""
    example: str = ""


@dataclass(frozen=True)
class Artifact:
    """One table or figure.

    Attributes:
        id: name within the study.
        kind: table or figure.
        number: its number in the paper.
        title: what it shows.
        caption: text of the report, in reStructuredText, to which workflow/report/artifact.rst adds the run.
        files: its files below results/{run}/{study}.
        needs: keys of the study's settings without which it cannot be made: roles of corpora, or a second model.
        uses: keys of further corpora and models that it reads where a run names them.
        text_files: those of `files` that show words or sentences of a corpus. They are published with the results of a run only
            if the licences of its corpora allow it, see `tools/publish.py`.
    """

    id: str
    kind: str
    number: str
    title: str
    caption: str
    files: tuple[str, ...]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    text_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Extra:
    """An optional package, without which artefacts are built, but lack something.

    Attributes:
        name: of the package, with what has to be downloaded for it.
        artifacts: ids of the artefacts that lack something without it.
        lacking: what they lack.
        problem: why it cannot be used; empty where it is installed.
    """

    name: str
    artifacts: tuple[str, ...]
    lacking: str
    problem: str


@dataclass(frozen=True)
class Paper:
    """The paper of a study.

    Attributes:
        citation: authors and year, as pages cite it.
        url: where it can be read; empty where it has no public address.
    """

    citation: str
    url: str = ""


def figure(
    id: str,
    number: str,
    title: str,
    caption: str,
    needs: Sequence[str] = (),
    uses: Sequence[str] = (),
    files: Sequence[str] = (),
    shows_text: bool = False,
    text_files: Sequence[str] = (),
) -> Artifact:
    """A figure, with its numbers; `files` are further ones.

    With `shows_text`, all of them show text of a corpus; otherwise those of `text_files` do, such as the numbers of a picture
    without its tokens.
    """
    drawn = (*(f"{id}.{suffix}" for suffix in FIGURE_SUFFIXES), *files)
    text = drawn if shows_text else tuple(text_files)
    return Artifact(id, "figure", number, title, caption, drawn, tuple(needs), tuple(uses), text)


def table(
    id: str,
    number: str,
    title: str,
    caption: str,
    needs: Sequence[str] = (),
    uses: Sequence[str] = (),
    files: Sequence[str] = (),
    text_files: Sequence[str] = (),
) -> Artifact:
    """A table, as TSV and as a page; `files` are further ones, and those of `text_files` show text of a corpus."""
    written = (f"{id}.tsv", f"{id}.html", *files)
    return Artifact(id, "table", number, title, caption, written, tuple(needs), tuple(uses), tuple(text_files))


def no_pairs(config: Config, run: str) -> list[Pair]:
    """An empty list, for a study that reads no cached attention."""
    return []


def no_corpora(config: Config, run: str) -> list[str]:
    """Nothing: for a study that reads the corpora of its roles alone."""
    return []


def no_models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """Nothing: for a study that needs its model and those of its roles alone."""
    return []


def no_extras(config: Config, run: str) -> list[Extra]:
    """Nothing: for a study that uses no optional package."""
    return []


def no_check(config: Config, run: str, place: str) -> None:
    """Nothing that the schema does not check."""


@dataclass(frozen=True)
class Study:
    """A study, or an overview over all studies of a run.

    Attributes:
        id: name in paths, targets and settings.
        order: place among the studies in tables and pages.
        title: what the report calls it.
        description: of its settings.
        paper: the paper that its pages link to; None for an overview.
        roles: keys of its settings that name a corpus.
        artifacts: its tables and figures.
        pairs: (model, corpus) whose attention is cached for a run.
        examples: (model, corpus) whose examples a run reads; default: `pairs`.
        corpora: corpora that a run reads beside those of its roles, such as those that its models are trained on.
        check: checks its settings beyond what a schema can express; raises AtlasError.
        models: models that an artefact of a run needs beside the study's and those of its roles.
        optional: keys of its settings that a run can do without if their corpus or model is missing (nested keys with dots) ->
            keys that go with them.
        extras: optional packages that a run uses.
        pages: tables and figures that are rendered from its tables, see `Page`.
        measures: measures of single heads that the atlas takes from its tables.
        records_key: key of the settings with the records of each corpus that its attention is read of; empty for all.
        names_models: whether its roles name their models, so that a run need not name one for it.
        overview: whether it is made from the tables of the studies.
        folder: of its artefacts, in place of its id; empty for that of the run.
    """

    id: str
    order: int
    title: str
    description: str
    paper: Paper | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    artifacts: tuple[Artifact, ...] = ()
    pairs: Callable[[Config, str], list[Pair]] = no_pairs
    examples: Callable[[Config, str], list[Pair]] | None = None
    corpora: Callable[[Config, str], list[str]] = no_corpora
    check: Callable[[Config, str, str], None] = no_check
    models: Callable[[Config, str, Artifact], list[str]] = no_models
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extras: Callable[[Config, str], list[Extra]] = no_extras
    pages: tuple[Page, ...] = ()
    measures: tuple[Source, ...] = ()
    records_key: str = ""
    names_models: bool = False
    overview: bool = False
    folder: str | None = None

    def path(self, name: str, run: str) -> str:
        """A file of the study in a run."""
        folder = self.id if self.folder is None else self.folder
        return "/".join(filter(None, ("results", run, folder, name)))

    def measured_path(self, name: str, run: str) -> str:
        """The same, or the measured table that it is a copy of: so that no job waits for a figure whose numbers it reads."""
        return self.path(self._measured.get(name, name), run)

    @cached_property
    def _measured(self) -> dict[str, str]:
        """Copy of a table -> the table."""
        copies = ((copy, page.inputs[parameter]) for page in self.pages for copy, parameter in page.copies.items())
        return {copy: source for copy, source in copies if isinstance(source, str)}

    def paths(self, artifact: Artifact, run: str) -> list[str]:
        """Files of an artefact in a run."""
        return [self.path(name, run) for name in artifact.files]

    def artifact(self, name: str) -> Artifact:
        """One artefact.

        Raises:
            KeyError: the study has no such artefact.
        """
        for artifact in self.artifacts:
            if artifact.id == name:
                return artifact
        raise KeyError(f"{self.id} declares no artefact {name}")

    def settings_schema(self, read: Callable[[Path], Any]) -> dict[str, Any]:
        """JSON schema of the study's settings: its file below `SETTINGS`, with a property for each role.

        Args:
            read: reads a YAML file.
        """
        path = SETTINGS / f"{self.id}.yaml"
        written: dict[str, Any] = read(path) if path.is_file() else {}
        roles = {
            name: {"type": "string", "description": f"Corpus of reader {role.reader}: {role.use}"}
            | ({"examples": [role.example]} if role.example else {})
            for name, role in self.roles.items()
        }
        required = [*(name for name, role in self.roles.items() if role.required), *written.get("required", [])]
        return {
            "type": "object",
            "additionalProperties": False,
            "description": self.description,
            "required": required,
            "properties": {**roles, **written.get("properties", {})},
        }
