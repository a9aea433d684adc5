"""Which corpora and models each artefact of a run needs, and the run without the missing ones."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attention_atlas.workflow.lookups import Config, study_model, study_runs
from attention_atlas.workflow.requirements import (
    MISSING,
    STATES,
    Requirement,
    Requirements,
    may_be_skipped,
    missing_requirements,
    requirements,
)
from attention_atlas.workflow.studies import role_pair, studies, study_corpora
from attention_atlas.workflow.study import Artifact, Study

Selected = tuple[str, Study, Artifact]
"""A run, a study and one of its artefacts."""


@dataclass(frozen=True)
class Need:
    """A corpus or a model, and the artefacts that need it, as `study/artefact`.

    Attributes:
        requirement: the corpus or the model.
        needed_by: all artefacts that read it, or a file built from it.
        skipped: artefacts that are not built because it is missing.
        lacks: artefacts that are built without it, with fewer tasks, models or controls.
    """

    requirement: Requirement
    needed_by: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


def is_part_of(config: Config, run: str, study: Study, artifact: Artifact) -> bool:
    """Whether a run names everything that an artefact needs."""
    settings = config["runs"][run][study.id]
    return all(settings.get(key) for key in artifact.needs)


def required_for(config: Config, run: str, study: Study, artifact: Artifact) -> Requirements:
    """Corpora and models that an artefact of a run needs, and everything that they are built from."""
    return requirements(config, *_named(config, run, study, artifact))


def missing_for(config: Config, run: str, study: Study, artifact: Artifact) -> Requirements:
    """The missing ones among `required_for`."""
    return missing_requirements(config, *_named(config, run, study, artifact))


def _named(config: Config, run: str, study: Study, artifact: Artifact) -> tuple[list[str], list[str]]:
    """Models and corpora that an artefact names."""
    settings, roles = config["runs"][run][study.id], study_corpora(config, run, study.id)
    used = [key for key in (*artifact.needs, *artifact.uses) if key in settings]
    corpora = [roles[key] for key in used if key in roles]
    models = [] if study.names_models else [study_model(config, run, study.id)]
    models += [role_pair(config, run, study.id, key)[0] for key in used if key in roles]
    further = [name for key in used if key not in roles for name in _listed(settings[key])]
    models += [name for name in further if name in config["models"]]
    corpora += [name for name in further if name not in config["models"]]
    return [*models, *study.models(config, run, artifact)], [*corpora, *study.corpora(config, run)]


def _listed(value: Any) -> list[str]:
    """Names in a setting: a single name, a list, or the values of a mapping."""
    if isinstance(value, str):
        return [value]
    return list(value.values() if isinstance(value, dict) else value)


def needs(named: Config, reduced: Config, selected: Iterable[Selected]) -> list[Need]:
    """Corpora and models that artefacts need, each with these artefacts, missing ones first.

    Args:
        named: the resolved configuration.
        reduced: the same without missing resources, see `without_missing`.
        selected: artefacts of its runs.
    """
    # Under `error` a study names all its tasks and models, including missing ones.
    whole = {**named, "missing": "error"}
    requirement_of: Requirements = {}
    needed_by: dict[str, list[str]] = {}
    skipped: dict[str, list[str]] = {}
    for run, study, artifact in selected:
        name = f"{study.id}/{artifact.id}"
        required = required_for(whole, run, study, artifact)
        requirement_of |= required
        for title in required:
            needed_by.setdefault(title, []).append(name)
        for title in _missing_without_which_skipped(whole, reduced, run, study, artifact):
            if may_be_skipped(named, {title: required[title]}):
                skipped.setdefault(title, []).append(name)
    unbuilt = {name for names in skipped.values() for name in names}
    ordered = sorted(requirement_of.values(), key=lambda one: (STATES.index(one.state), one.kind))
    return [
        Need(
            one, _once(needed_by[one.title]), _once(skipped.get(one.title, [])), lacks=_lacking(named, one, needed_by, unbuilt)
        )
        for one in ordered
    ]


def _missing_without_which_skipped(whole: Config, reduced: Config, run: str, study: Study, artifact: Artifact) -> list[str]:
    """Titles of the missing resources that prevent an artefact from being built."""
    if is_part_of(reduced, run, study, artifact):
        return list(missing_for(reduced, run, study, artifact))
    settings = whole["runs"][run][study.id]
    named = [key for key in artifact.needs if not reduced["runs"][run][study.id].get(key)]
    models = [name for key in named if key not in study.roles for name in _listed(settings[key])]
    corpora = [settings[key] for key in named if key in study.roles]
    # A key may have been removed together with another one, whose corpus or model is missing.
    return list(missing_requirements(whole, models, corpora) or missing_for(whole, run, study, artifact))


def _lacking(named: Config, missing: Requirement, needed_by: Mapping[str, list[str]], unbuilt: set[str]) -> tuple[str, ...]:
    """Artefacts that are built without a missing resource."""
    if missing.state != MISSING or not may_be_skipped(named, {missing.title: missing}):
        return ()
    return _once([name for name in needed_by[missing.title] if name not in unbuilt])


def missing_lines(missing: Iterable[Need]) -> str:
    """One line for each missing file or folder: what it is, licence, layout, and artefacts that need it or are skipped."""
    by_place: dict[tuple[str, str], list[Need]] = {}
    for need in missing:
        by_place.setdefault((need.requirement.kind, need.requirement.place), []).append(need)
    return "\n".join(f"- {_line(group)}" for group in by_place.values())


def _line(group: list[Need]) -> str:
    """What is missing at one path; several registry names share the description of the first."""
    names = ", ".join(need.requirement.name for need in group)
    sentence = replace(group[0].requirement, name=names).sentence
    return " ".join([sentence, *(f"{what}: {artifact_list(listed)}." for what, listed in uses(group) if listed)])


def uses(group: Iterable[Need]) -> list[tuple[str, tuple[str, ...]]]:
    """Heading -> artefacts, for the resources at one path: those that are skipped or lack it, or else those that need it."""
    group = list(group)
    skipped = _once([name for need in group for name in need.skipped])
    lacks = _once([name for need in group for name in need.lacks if name not in skipped])
    if skipped or lacks:
        return [("Skipped", skipped), ("Built without it", lacks)]
    return [("Needed by", _once([name for need in group for name in need.needed_by]))]


def artifact_list(names: Iterable[str]) -> str:
    """Artefacts by study, for a reader: `clark2019: table1, figure5; atlas: all`."""
    by_study: dict[str, list[str]] = {}
    for name in names:
        study, _, artifact = name.partition("/")
        by_study.setdefault(study, []).append(artifact)
    return "; ".join(
        f"{study}: {'all' if len(listed) == len(studies()[study].artifacts) else ', '.join(listed)}"
        for study, listed in by_study.items()
    )


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def artifacts_of(config: Config, runs: list[str] | None = None) -> Iterator[Selected]:
    """All artefacts of runs (default: the targets)."""
    for study in studies().values():
        for artifact in study.artifacts:
            for run in study_runs(config, study.id, runs):
                if is_part_of(config, run, study, artifact):
                    yield run, study, artifact


def without_missing(config: Config) -> dict[str, Any]:
    """The configuration without the missing corpora and models that are optional and that the runs can do without.

    Required resources, and those that a study cannot do without, are kept: they cause an error, or the study's artefacts are
    skipped. `named_runs` contains the original runs.
    """
    runs = {}
    for run, named in config["runs"].items():
        settings = copy.deepcopy(named)
        for study in studies().values():
            if study.id in settings:
                for key, together in study.optional.items():
                    _leave_out(config, settings[study.id], study, key, together)
        runs[run] = settings
    return {**config, "runs": runs, "named_runs": config["runs"]}


def _leave_out(config: Config, settings: dict[str, Any], study: Study, key: str, together: tuple[str, ...]) -> None:
    """Remove a key from a study's settings, in place, if what it names is missing and optional."""
    *path, last = key.split(".")
    node = settings
    for part in path:
        node = node.get(part, {})
    value = node.get(last)
    if not value:
        return
    if isinstance(value, list):
        node[last] = [name for name in value if not _is_skipped(config, study, last, name)]
    elif _is_skipped(config, study, last, value):
        if "family" in (key, *together):
            # Its base remains the model of the study.
            settings["model"] = config["families"][settings["family"]]["base"]
        for absent in (key, *together):
            _remove(settings, absent.split("."))


def _remove(node: dict[str, Any], path: list[str]) -> None:
    """Remove a key from settings, leaving an empty list or mapping."""
    for part in path[:-1]:
        node = node.get(part, {})
    value = node.pop(path[-1], None)
    if isinstance(value, dict | list):
        node[path[-1]] = type(value)()


def _is_skipped(config: Config, study: Study, key: str, name: str) -> bool:
    """Whether a corpus, a model or a family of models is missing and optional."""
    if key == "family":
        family = config["families"][name]
        missing = missing_requirements(config, [family["base"]], [task["corpus"] for task in family["tasks"].values()])
    elif key in study.roles or name not in config["models"]:
        missing = missing_requirements(config, [], [name])
    else:
        missing = missing_requirements(config, [name], [])
    return bool(missing) and may_be_skipped(config, missing)
