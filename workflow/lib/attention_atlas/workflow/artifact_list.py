"""All artefacts of a run, with the reason for those that it skips."""

from __future__ import annotations

from dataclasses import dataclass

from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.needs import artifacts_of, is_part_of, missing_for, needs
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.study import Artifact, Study


@dataclass(frozen=True)
class ListedArtifact:
    """An artefact of a run.

    Attributes:
        study: the study that declares it.
        artifact: its declaration.
        skipped: why the run does not build it; empty if it does.
    """

    study: Study
    artifact: Artifact
    skipped: str = ""

    @property
    def name(self) -> str:
        """Study and artefact."""
        return f"{self.study.id}/{self.artifact.id}"

    def paths(self, run: str) -> list[str]:
        """Its files in a run."""
        return self.study.paths(self.artifact, run)


def listed_artifacts(config: Config, run: str) -> list[ListedArtifact]:
    """Artefacts of the studies of a run, in the order of their declarations.

    Args:
        config: the resolved configuration, without missing optional resources (see `needs.without_missing`).
        run: its name.
    """
    named = {**config, "runs": config.get("named_runs", config["runs"])}
    reasons: dict[str, list[str]] = {}
    for need in needs(named, config, artifacts_of(named, [run])):
        for name in need.skipped:
            reasons.setdefault(name, []).append(need.requirement.sentence)
    listed = []
    for study in studies().values():
        if study.id not in config["runs"][run]:
            continue
        for artifact in study.artifacts:
            absent = [key for key in artifact.needs if not named["runs"][run][study.id].get(key)]
            if absent:
                reason = f"The run names no {' and no '.join(absent)} (runs.{run}.{study.id})."
            elif is_part_of(config, run, study, artifact) and not missing_for(config, run, study, artifact):
                reason = ""
            else:
                reason = " ".join(reasons.get(f"{study.id}/{artifact.id}", [])) or "A corpus or model that it needs is missing."
            listed.append(ListedArtifact(study, artifact, reason))
    return listed
