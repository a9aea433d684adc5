"""What a study declares: corpora, models, settings and artefacts; the declared studies, and what a run names of them.

A study is the folder `studies/{id}` with a module `study`, whose `STUDY` is a `Study`. Imports nothing heavy, since the
workflow reads all declarations at every start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import SCHEMAS
from attention_atlas.methods.head_measures import Source
from attention_atlas.studies import study_modules
from attention_atlas.workflow.paths import Config, Pair, limit_of, study_model, study_runs
from attention_atlas.workflow.shown import SUFFIXES, shown

SETTINGS = SCHEMAS / "studies"
"""Folder with the schema of each study's settings; roles of corpora are added to it from the declaration."""


@dataclass(frozen=True)
class Role:
    """A key of a study's settings that names a corpus; an artefact whose role a run does not name is not part of that run."""

    reader: str  # that the corpus needs
    use: str  # what the corpus is for
    required: bool = False  # whether every run of the study names it
    model: str = ""  # key of the settings that names the model of this role; empty for the model of the study
    example: str = ""  # a corpus for the documentation, where no shipped run names one


@dataclass(frozen=True)
class Artifact:
    id: str  # name within the study
    kind: str  # table or figure
    number: str  # in the paper
    title: str  # what it shows
    caption: str  # text of the report, in reStructuredText, to which workflow/report/artifact.rst adds the run
    files: tuple[str, ...]  # below results/{run}/{study}
    # Keys of the study's settings without which it cannot be made: roles of corpora, or a second model.
    needs: tuple[str, ...] = ()
    # Keys of further corpora and models that it reads where a run names them.
    uses: tuple[str, ...] = ()
    # Those of `files` that show words of a corpus: published only if its licence allows it, see `tools/publish.py`.
    text_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    citation: str  # authors and year, as pages cite it
    url: str = ""  # empty where it has no public address


def shown_artifacts(study: str, needs: Sequence[str] = (), uses: Sequence[str] = ()) -> tuple[Artifact, ...]:
    """What the marked functions of a study show; all of it needs `needs` and uses `uses`."""
    return tuple(
        Artifact(
            *(item.id, item.kind, item.number, item.title, item.caption),
            # Of a table of which another rule writes the numbers, these are among its files.
            tuple(dict.fromkeys([*(f"{item.id}.{s}" for s in SUFFIXES[item.kind]), *item.outputs.values(), *item.files])),
            *((*needs, *item.needs), (*uses, *item.uses), item.text_files),
        )
        for item in shown(study)
        if item.kind != "page" and not item.part_of
    )


@dataclass(frozen=True)
class Study:
    id: str  # name in paths, targets and settings
    order: int  # place among the studies in tables and pages
    title: str  # what the report calls it
    description: str = ""  # of its settings; default: the title
    paper: Paper | None = None  # that its pages link to
    roles: Mapping[str, Role] = field(default_factory=dict)  # keys of its settings that name a corpus
    artifacts: tuple[Artifact, ...] = ()
    # (model, corpus) whose attention is cached for a run.
    pairs: Callable[[Config, str], list[Pair]] = lambda config, run: []
    # (model, corpus) whose examples a run reads; default: `pairs`.
    examples: Callable[[Config, str], list[Pair]] | None = None
    # Corpora that a run reads beside those of its roles, such as those that its models are trained on.
    corpora: Callable[[Config, str], list[str]] = lambda config, run: []
    # Checks its settings in a run, at a place in the configuration, beyond what a schema can express; raises AtlasError.
    check: Callable[[Config, str, str], None] = lambda config, run, place: None
    # Models that an artefact of a run needs beside the study's and those of its roles.
    models: Callable[[Config, str, Artifact], list[str]] = lambda config, run, artifact: []
    # Keys of its settings (nested with dots) that a run can do without if their corpus or model is missing -> keys with them.
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Name -> the models that one table or figure reads: name -> (model, corpus), and if need be a name for labels; or the tasks
    # that rules have in their paths (`{task}`).
    groups: Mapping[str, Callable[[Config, str], Mapping[str, tuple[str, ...]]]] = field(default_factory=dict)
    # Parameter of its functions -> what `StudyInputs` and a run give to it: files by key, or values that are no settings.
    inputs: Mapping[str, Callable[[Any, str], Any]] = field(default_factory=dict)
    measures: tuple[Source, ...] = ()  # of single heads that the atlas takes from its tables
    records_key: str = ""  # key of the settings with the records of each corpus that its attention is read of; empty for all
    names_models: bool = False  # whether its roles name their models, so that a run need not name one for it
    overview: bool = False  # whether it is made from the tables of the studies
    folder: str | None = None  # of its artefacts, in place of its id; empty for that of the run

    def path(self, name: str, run: str) -> str:
        folder = self.id if self.folder is None else self.folder
        return "/".join(filter(None, ("results", run, folder, name)))

    def measured_path(self, name: str, run: str) -> str:
        """The same, or the measured table that it is a copy of: so that no job waits for a figure whose numbers it reads."""
        return self.path(self._measured.get(name, name), run)

    @cached_property
    def _measured(self) -> dict[str, str]:
        """Copy of a table -> the table."""
        read = [(f"{item.id}.tsv", file) for item in shown(self.id) for file in item.inputs.values()]
        return {copy: file for copy, file in read if copy == PurePosixPath(file).name}

    def paths(self, artifact: Artifact, run: str) -> list[str]:
        return [self.path(name, run) for name in artifact.files]

    def artifact(self, name: str) -> Artifact:
        return next(artifact for artifact in self.artifacts if artifact.id == name)

    def settings_schema(self, read: Callable[[Path], Any]) -> dict[str, Any]:
        """JSON schema of the study's settings: its file below `SETTINGS`, read by `read`, with a property for each role."""
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
            "description": self.description or self.title,
            "required": required,
            "properties": {**roles, **written.get("properties", {})},
        }


Selected = tuple[str, Study, Artifact]  # A run, a study and one of its artefacts


@functools.cache
def studies() -> dict[str, Study]:
    """Id -> declaration, studies before overviews, each in their order."""
    # They look up the tables of all studies, so they import this module.
    from attention_atlas.atlas import study as atlas
    from attention_atlas.scoreboard import study as scoreboard

    declared = [module.STUDY for module in (*study_modules("study"), atlas, scoreboard)]
    return {study.id: study for study in sorted(declared, key=lambda study: (study.overview, study.order))}


def artifacts() -> list[tuple[Study, Artifact]]:
    """All tables and figures with their studies, in the order of the declarations."""
    return [(study, artifact) for study in studies().values() for artifact in study.artifacts]


def captions() -> dict[str, dict[str, str]]:
    """Title of a study -> number of an artefact -> its caption, for workflow/report/artifact.rst."""
    return {study.title: {artifact.number: artifact.caption for artifact in study.artifacts} for study in studies().values()}


def is_part_of(config: Config, run: str, study: Study, artifact: Artifact) -> bool:
    """Whether a run names everything that an artefact needs."""
    settings = config["runs"][run][study.id]
    return all(settings.get(key) for key in artifact.needs)


def artifacts_of(config: Config, runs: list[str] | None = None) -> Iterator[Selected]:
    """All artefacts of runs (default: the targets)."""
    for study in studies().values():
        for artifact in study.artifacts:
            for run in study_runs(config, study.id, runs):
                if is_part_of(config, run, study, artifact):
                    yield run, study, artifact


def study_corpora(config: Config, run: str, name: str) -> dict[str, str]:
    """Role -> corpus of a study, for the roles that a run names."""
    settings = config["runs"][run][name]
    return {role: settings[role] for role in studies()[name].roles if role in settings}


def role_pair(config: Config, run: str, name: str, role: str, variant: str | None = None) -> Pair:
    """Model and corpus behind a role of a study, or behind a variant of it.

    The variant `random` is the study's `random_model`; of its `variants`, `casing` names another model, others another corpus.
    """
    settings = config["runs"][run][name]
    if role not in settings:
        raise AtlasError(f"runs.{run}.{name} names no corpus for the role '{role}', which this file needs: add it to the run.")
    declared = studies()[name].roles.get(role)
    model = settings[declared.model] if declared and declared.model else study_model(config, run, name)
    corpus = settings[role]
    if variant == "casing":
        model = settings["variants"][variant]
    elif variant == "random":
        model = settings["random_model"]
    elif variant:
        corpus = settings["variants"][variant]
    return model, corpus


def extracted(config: Config, run: str, name: str) -> list[tuple[str, str, int]]:
    """(model, corpus, records) whose cached attention a study reads, without duplicate pairs."""
    declared = studies()[name]
    records = {pair: limit_of(config, run, pair[1]) for pair in declared.pairs(config, run)}
    if declared.records_key:
        bound = config["runs"][run][name][declared.records_key]
        records = {pair: min(bound, limit) for pair, limit in records.items()}
    return [(*pair, limit) for pair, limit in records.items()]


def study_examples(config: Config, run: str, name: str) -> list[Pair]:
    """(model, corpus) of all examples that a study reads, without duplicates."""
    declared = studies()[name]
    return list(dict.fromkeys((declared.examples or declared.pairs)(config, run)))
