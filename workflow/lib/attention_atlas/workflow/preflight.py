"""Everything that a run needs: which artefacts need it, its licence, where to get it, and whether it is present."""

from __future__ import annotations

import csv
import io
import os
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError, did_you_mean
from attention_atlas.io.mirror import MIRROR_VARIABLE
from attention_atlas.workflow.lookups import Config, limit_of
from attention_atlas.workflow.needs import Need, artifact_list, artifacts_of, needs, uses, without_missing
from attention_atlas.workflow.requirements import (
    CORPUS,
    DOWNLOADED,
    MISSING,
    PRESENT,
    STATES,
    WRONG,
    Requirement,
    may_be_skipped,
)
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.study import Extra

WIDTH = 118
COLUMNS = (
    "state",
    "kind",
    "names",
    "place",
    "licence",
    "obtain",
    "layout",
    "bytes",
    "needed_by",
    "skipped",
    "built_without_it",
)
_INDENT = 12


@dataclass(frozen=True)
class Preflight:
    """Resources that a run needs.

    Attributes:
        config: the resolved configuration.
        run: its name.
        groups: corpora and models grouped by path, with the artefacts that need them; missing ones first.
        extras: study -> optional packages that it uses.
        shortfalls: insufficient disk space.
    """

    config: Config
    run: str
    groups: tuple[tuple[Need, ...], ...]
    extras: tuple[tuple[str, Extra], ...]
    shortfalls: tuple[str, ...]

    @property
    def failures(self) -> list[str]:
        """Why the run cannot be built: required resources that are missing, wrong ones, and what the machine lacks."""
        listed = [need.requirement for group in self.groups for need in group]
        missing = [one for one in listed if one.state == MISSING and not may_be_skipped(self.config, {one.title: one})]
        return [*(one.sentence for one in (*missing, *(one for one in listed if one.state == WRONG))), *self.shortfalls]


def preflight(config: Config, run: str, shortfalls: list[str], fault_of: Callable[[str], str] = lambda corpus: "") -> Preflight:
    """Check all resources that a run needs.

    Args:
        config: the resolved configuration.
        run: its name.
        shortfalls: what its jobs need and the machine lacks, see `caches.disk_shortage`.
        fault_of: why a corpus that is present is not what the run needs; empty if it is.

    Raises:
        AtlasError: there is no such run.
    """
    if run not in config["runs"]:
        raise AtlasError(f"there is no run '{run}'{did_you_mean(run, config['runs'])}. Runs: {', '.join(config['runs'])}.")
    by_place: dict[tuple[str, ...], list[Need]] = {}
    for need in needs(config, without_missing(config), artifacts_of(config, [run])):
        one = need.requirement
        if one.state == PRESENT and one.kind == CORPUS:
            if fault := fault_of(one.name):
                one = replace(one, state=WRONG, problem=fault.removesuffix("."))
            elif (count := limit_of(config, run, one.name)) < (limit := limit_of(config, run, one.name, counted=False)):
                one = replace(one, problem=f"{one.place}: {count:,} records, but its limit is {limit:,}")
        by_place.setdefault((one.state, one.kind, one.place, one.problem), []).append(replace(need, requirement=one))
    listed = sorted(by_place.values(), key=lambda group: STATES.index(group[0].requirement.state))
    extras = [
        (study.id, extra)
        for study in studies().values()
        if study.id in config["runs"][run]
        for extra in study.extras(config, run)
    ]
    return Preflight(config, run, tuple(map(tuple, listed)), tuple(extras), tuple(shortfalls))


def as_text(checked: Preflight) -> str:
    """A block for each path, and a last line with counts; at most `WIDTH` columns unless a path is longer."""
    blocks = [_block(group) for group in checked.groups]
    blocks += [_extra_block(study, extra) for study, extra in checked.extras]
    blocks += ["\n".join(_wrapped("not enough", sentence)) for sentence in checked.shortfalls]
    mirror = checked.config["data_mirror"] or os.environ.get(MIRROR_VARIABLE)
    if mirror and not Path(mirror).is_dir():
        blocks.append("\n".join(_wrapped("warning", f"the mirror folder {mirror} does not exist (data_mirror, or ATLAS_DATA)")))
    return "\n".join([*blocks, "", summary(checked)])


def summary(checked: Preflight) -> str:
    """How many resources are present, downloaded by the run, or missing."""
    states = [group[0].requirement.state for group in checked.groups]
    size = sum(group[0].requirement.size for group in checked.groups)
    absent = sum(bool(extra.problem) for _, extra in checked.extras)
    models = f" (models {size / 1e9:.1f} GB)" if size else ""
    parts = [f"{states.count(PRESENT)} present", f"{states.count(DOWNLOADED)} to be downloaded{models}"]
    parts.append(f"{states.count(MISSING)} missing")
    if WRONG in states:
        parts.append(f"{states.count(WRONG)} wrong")
    if absent:
        parts.append(f"{absent} optional {'package' if absent == 1 else 'packages'} missing")
    if checked.shortfalls:
        parts.append("not enough disk space")
    verdict = "cannot be built" if checked.failures else "can be built"
    if not checked.failures and any(need.skipped or need.lacks for group in checked.groups for need in group):
        verdict += ", except for the skipped artefacts"
    return f"run {checked.run} {verdict}: {', '.join(parts)}."


def _block(group: tuple[Need, ...]) -> str:
    """The resources at one path: names, path, size, licence, source and layout if missing, and artefacts."""
    one = group[0].requirement
    names = ", ".join(need.requirement.name for need in group)
    heading = {PRESENT: "present", DOWNLOADED: "download", MISSING: "MISSING", WRONG: "WRONG"}[one.state]
    size = f", about {one.size / 1e9:.1f} GB" if one.size else ""
    lines = _wrapped(heading, f"{one.kind} {names}: {one.problem or one.place}{size}")
    if one.state != PRESENT:
        lines += _wrapped("licence", one.licence)
    if one.state in (MISSING, WRONG):
        lines += _wrapped("get it from", one.obtain)
        lines += _wrapped("layout", one.layout)
    for what, listed in uses(group):
        lines += _wrapped(what.lower() if what != "Built without it" else "affected", artifact_list(listed))
    return "\n".join(lines)


def _extra_block(study: str, extra: Extra) -> str:
    heading = "optional" if extra.problem else "present"
    lines = _wrapped(heading, f"package {extra.name}{': ' + extra.problem if extra.problem else ''}")
    artifacts = artifact_list(f"{study}/{name}" for name in extra.artifacts)
    return "\n".join([*lines, *_wrapped("affected" if extra.problem else "needed by", artifacts)])


def _wrapped(heading: str, text: str) -> list[str]:
    """A heading with wrapped text beside it; nothing for an empty text."""
    if not text:
        return []
    lines = textwrap.wrap(text, WIDTH - _INDENT, break_long_words=False, break_on_hyphens=False)
    return [f"{heading:<{_INDENT}}{lines[0]}", *(" " * _INDENT + line for line in lines[1:])]


def as_tsv(checked: Preflight) -> str:
    """The same as a tab-separated table with the columns `COLUMNS`."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(checked))
    return stream.getvalue()


def _rows(checked: Preflight) -> Iterator[list[Any]]:
    for group in checked.groups:
        one: Requirement = group[0].requirement
        names = " ".join(need.requirement.name for need in group)
        listed = [
            " ".join(dict.fromkeys(name for need in group for name in getattr(need, key)))
            for key in ("needed_by", "skipped", "lacks")
        ]
        yield [one.state, one.kind, names, one.place, one.licence, one.obtain, one.layout, int(one.size) or "", *listed]
    for study, extra in checked.extras:
        artifacts = " ".join(f"{study}/{name}" for name in extra.artifacts)
        state = "missing, optional" if extra.problem else PRESENT
        yield [state, "package", extra.name, "", "", "", "", artifacts, "", artifacts if extra.problem else ""]
