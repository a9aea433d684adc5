"""Inputs of the target rules: artefacts and caches of the target runs, and the handling of missing files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.published.page_declarations import INDEX
from attention_atlas.workflow.caches import caches
from attention_atlas.workflow.lookups import Config, study_runs
from attention_atlas.workflow.needs import Need, artifacts_of, is_part_of, missing_for, missing_lines, needs
from attention_atlas.workflow.paths import shard_paths
from attention_atlas.workflow.requirements import MISSING, Requirements, may_be_skipped, missing_requirements
from attention_atlas.workflow.studies import studies


def built_tables(config: Config, run: str) -> dict[str, str]:
    """`study/name` -> file, for all tables of the studies that a run builds; overviews are built from these."""
    tables: dict[str, str] = {}
    for study in studies().values():
        if study.overview or study.id not in config["runs"][run]:
            continue
        for artifact in study.artifacts:
            if is_part_of(config, run, study, artifact) and not missing_for(config, run, study, artifact):
                names = [name for name in artifact.files if name.endswith(".tsv")]
                tables |= {f"{study.id}/{PurePosixPath(name).stem}": study.measured_path(name, run) for name in names}
    return tables


class Targets:
    """Inputs of the target rules, for a resolved configuration.

    Args:
        config: the resolved configuration, without missing optional resources (see `without_missing`).
        warn: called with a message on skipped artefacts.
        named: the configuration with missing resources; default: `config`.
    """

    def __init__(self, config: Config, warn: Callable[[str], None], named: Config | None = None):
        self.config = config
        self.named = config if named is None else named
        self.warn = warn
        self._warned: set[str] = set()

    def artifacts(self, kind: str | None = None, study: str | None = None) -> Callable[[Any], list[str]]:
        """Files of the artefacts of all target runs, optionally of one kind or one study.

        An artefact is not part of a run that does not name a corpus or a model that it needs. Artefacts whose corpora or models
        are missing are skipped (`missing: skip`), or raise an error that lists what is missing.
        """

        def files(wildcards: Any) -> list[str]:
            selected = [
                (run, declared, artifact)
                for run, declared, artifact in artifacts_of(self.named)
                if study in (None, declared.id) and kind in (None, artifact.kind)
            ]
            paths: list[str] = []
            for run, declared, artifact in selected:
                for extra in declared.extras(self.config, run):
                    if extra.problem:
                        self._warn_once(f"run {run}, {declared.id}: {extra.lacking}: {extra.problem}")
                if is_part_of(self.config, run, declared, artifact) and not missing_for(self.config, run, declared, artifact):
                    paths += declared.paths(artifact, run)
            self._report([need for need in needs(self.named, self.config, selected) if need.requirement.state == MISSING])
            return paths

        return files

    def index_pages(self, wildcards: Any) -> list[str]:
        """Index pages of all target runs."""
        return [studies()["scoreboard"].path(INDEX, run) for run in study_runs(self.config, "scoreboard")]

    def attention(self, wildcards: Any) -> list[str]:
        """Attention caches of all target runs."""
        paths: list[str] = []
        missing: Requirements = {}
        for (run, model, corpus), records in caches(self.config).items():
            if absent := missing_requirements(self.config, [model], [corpus]):
                missing |= absent
            else:
                paths += shard_paths(self.config, run, model, corpus, "attention", "safetensors", records)
        self._report([Need(requirement) for requirement in missing.values()])
        return list(dict.fromkeys(paths))

    def _warn_once(self, sentence: str) -> None:
        if sentence not in self._warned:
            self._warned.add(sentence)
            self.warn(sentence)

    def _report(self, missing: list[Need]) -> None:
        """Report missing resources, one line each: as an error, or as a warning if the artefacts that need them are skipped."""
        if not missing:
            return
        needed = [need for need in missing if not may_be_skipped(self.config, {need.requirement.title: need.requirement})]
        if needed:
            raise AtlasError(
                f"Missing, but needed by the target runs ({', '.join(self.config['targets'])}):\n{missing_lines(needed)}\n"
                "Put each where it is expected (`make check RUN=...` says more), or set `missing: skip` to build everything "
                "that does not need them."
            )
        self._warn_once(f"missing; the artefacts that need these are skipped, or built without them:\n{missing_lines(missing)}")
