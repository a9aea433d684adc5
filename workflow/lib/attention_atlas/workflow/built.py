"""The artefacts of a run with failed jobs that are built, by study, and the tables for a scoreboard."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.study import Study


@dataclass(frozen=True)
class BuiltStudy:
    """A study of a run.

    Attributes:
        study: id.
        built, absent: ids of the artefacts of the run with all files up to date, and of the remaining ones.
        comparison, claims: these tables if up to date; None if they are not, or if the study has none.
    """

    study: str
    built: tuple[str, ...]
    absent: tuple[str, ...]
    comparison: Path | None
    claims: Path | None


def built_studies(folder: Path, run: str, outputs: Collection[str], to_do: Collection[str]) -> list[BuiltStudy]:
    """The studies of a run, without overviews, and which of their artefacts are built.

    Args:
        folder: folder of the workflow, which contains `results`.
        run: name of the run.
        outputs: outputs of all jobs of the run.
        to_do: outputs of the jobs that still have to run.
    """

    def up_to_date(path: str) -> bool:
        return path in outputs and path not in to_do and (folder / path).is_file()

    def table(study: Study, name: str) -> Path | None:
        path = study.path(name, run)
        return folder / path if up_to_date(path) else None

    listed = []
    for study in studies().values():
        parts = [artifact for artifact in study.artifacts if set(study.paths(artifact, run)) <= set(outputs)]
        if study.overview or not parts:
            continue
        built = [artifact.id for artifact in parts if all(map(up_to_date, study.paths(artifact, run)))]
        absent = [artifact.id for artifact in parts if artifact.id not in built]
        tables = (table(study, "comparison.tsv"), table(study, "claims.tsv"))
        listed.append(BuiltStudy(study.id, tuple(built), tuple(absent), *tables))
    return listed
