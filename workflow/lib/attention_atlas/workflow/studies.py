"""The declared studies: every folder below `studies` with a module `study`, and the overviews over all studies."""

from __future__ import annotations

import functools

from attention_atlas.atlas import overview as atlas
from attention_atlas.errors import AtlasError
from attention_atlas.published import overview as scoreboard
from attention_atlas.studies import study_modules
from attention_atlas.workflow.lookups import Config, Pair, limit_of, study_model
from attention_atlas.workflow.study import Artifact, Study


@functools.cache
def studies() -> dict[str, Study]:
    """Id -> declaration, studies before overviews, each in their order."""
    declared = [module.STUDY for module in (*study_modules("study"), atlas, scoreboard)]
    return {study.id: study for study in sorted(declared, key=lambda study: (study.overview, study.order))}


def study(name: str) -> Study:
    """The declaration of a study.

    Raises:
        KeyError: there is no such study.
    """
    return studies()[name]


def artifacts() -> list[tuple[Study, Artifact]]:
    """All tables and figures with their studies, in the order of the declarations."""
    return [(study, artifact) for study in studies().values() for artifact in study.artifacts]


def captions() -> dict[str, dict[str, str]]:
    """Title of a study -> number of an artefact -> its caption, for workflow/report/artifact.rst."""
    return {study.title: {artifact.number: artifact.caption for artifact in study.artifacts} for study in studies().values()}


def study_corpora(config: Config, run: str, name: str) -> dict[str, str]:
    """Role -> corpus of a study, for the roles that a run names."""
    settings = config["runs"][run][name]
    return {role: settings[role] for role in study(name).roles if role in settings}


def role_pair(config: Config, run: str, name: str, role: str, variant: str | None = None) -> Pair:
    """Model and corpus behind a role of a study, or behind a variant of it.

    Args:
        config: the resolved configuration.
        run: its name.
        name: name of the study.
        role: role of a corpus in the study.
        variant: `random` for the study's `random_model`, or a key of its `variants`: `casing` names another model, all others
            another corpus.

    Raises:
        AtlasError: the run names no corpus for the role.
    """
    settings = config["runs"][run][name]
    if role not in settings:
        raise AtlasError(f"runs.{run}.{name} names no corpus for the role '{role}', which this file needs: add it to the run.")
    declared = study(name).roles.get(role)
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
    declared = study(name)
    records = {pair: limit_of(config, run, pair[1]) for pair in declared.pairs(config, run)}
    if declared.records_key:
        bound = config["runs"][run][name][declared.records_key]
        records = {pair: min(bound, limit) for pair, limit in records.items()}
    return [(*pair, limit) for pair, limit in records.items()]


def study_examples(config: Config, run: str, name: str) -> list[Pair]:
    """(model, corpus) of all examples that a study reads, without duplicates."""
    declared = study(name)
    return list(dict.fromkeys((declared.examples or declared.pairs)(config, run)))
