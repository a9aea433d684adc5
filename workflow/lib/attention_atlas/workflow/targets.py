"""What the target rules build: artefacts and caches of the target runs, and what to do about missing files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.costs import cache_bytes
from attention_atlas.workflow.lookups import Config, may_be_missing, missing_files, study_runs
from attention_atlas.workflow.paths import shard_paths
from attention_atlas.workflow.studies import extracted, studies, study_corpora
from attention_atlas.workflow.study import Artifact, Study

Missing = dict[str, str]
"""Corpora whose files are missing -> a sentence each."""


def is_part_of(config: Config, run: str, study: Study, artifact: Artifact) -> bool:
    """Whether a run names all that an artefact needs."""
    return set(artifact.needs) <= set(config["runs"][run][study.id])


def missing_for(config: Config, run: str, study: Study, artifact: Artifact) -> Missing:
    """Corpora of an artefact of a run whose files are missing."""
    corpora = study_corpora(config, run, study.id)
    used = [corpora[role] for role in (*artifact.needs, *artifact.uses) if role in corpora]
    return missing_files(config, [*used, *study.corpora(config, run)])


def built_tables(config: Config, run: str) -> dict[str, str]:
    """`study/name` -> file of all tables of the studies that a run builds; overviews are made from these."""
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
        config: the resolved configuration.
        warn: called with a sentence about what is skipped.
    """

    def __init__(self, config: Config, warn: Callable[[str], None]):
        self.config = config
        self.warn = warn
        self._warned: set[str] = set()

    def artifacts(self, kind: str | None = None, study: str | None = None) -> Callable[[Any], list[str]]:
        """Files of the artefacts of all target runs, of one kind or one study where these are given.

        Artefacts that need a corpus or a model which a run does not name are not part of that run. Those whose licensed corpora
        are missing are skipped (`missing: skip`), or are an error that lists these corpora.
        """

        def files(wildcards: Any) -> list[str]:
            paths: list[str] = []
            missing: Missing = {}
            for declared in studies().values():
                if study is not None and declared.id != study:
                    continue
                for artifact in declared.artifacts:
                    if kind is not None and artifact.kind != kind:
                        continue
                    for run in study_runs(self.config, declared.id):
                        self._warn_once(declared.absences(self.config, run))
                        if not is_part_of(self.config, run, declared, artifact):
                            continue
                        if absent := missing_for(self.config, run, declared, artifact):
                            missing |= absent
                        else:
                            paths += declared.paths(artifact, run)
            self._report(missing)
            return paths

        return files

    def attention(self, wildcards: Any) -> list[str]:
        """Attention caches of all target runs."""
        paths: list[str] = []
        missing: Missing = {}
        for run, model, corpus, records in self._caches():
            if absent := missing_files(self.config, [corpus]):
                missing |= absent
            else:
                paths += shard_paths(self.config, run, model, corpus, "attention", "safetensors", records)
        self._report(missing)
        return list(dict.fromkeys(paths))

    def cache_forecast(self) -> str:
        """One line on the size of the attention caches of the target runs, before the first job."""
        sizes: dict[tuple[str, str, str], float] = {}
        for run, model, corpus, records in self._caches():
            size = cache_bytes(self.config["models"][model], self.config["corpora"][corpus], records)
            sizes[run, model, corpus] = max(size, sizes.get((run, model, corpus), 0.0))
        total = sum(sizes.values())
        return f"attention caches of {', '.join(self.config['targets'])}: at most {total / 1e9:.1f} GB in float16"

    def _caches(self) -> list[tuple[str, str, str, int]]:
        """(run, model, corpus, records) of all studies of the target runs."""
        return [
            (run, *cache)
            for study in studies()
            for run in study_runs(self.config, study)
            for cache in extracted(self.config, run, study)
        ]

    def _warn_once(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            if sentence not in self._warned:
                self._warned.add(sentence)
                self.warn(sentence)

    def _report(self, missing: Missing) -> None:
        """Report missing files: as an error, or as a warning where what needs them is skipped."""
        if not missing:
            return
        needed = [sentence for corpus, sentence in missing.items() if not may_be_missing(self.config, corpus)]
        if needed:
            raise AtlasError(
                f"{' '.join(needed)} Put the file there, or set `missing: skip` to build everything that does not need it."
            )
        self.warn(f"skipped what needs missing files: {' '.join(missing.values())}")
