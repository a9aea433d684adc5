"""Artefacts of a run: those that it builds and why it skips others; target rules, links of pages, summary at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.models.card import installed_versions, read_card
from attention_atlas.workflow.paths import Config, shard_paths, study_runs
from attention_atlas.workflow.requirements import (
    MISSING,
    Requirement,
    described,
    is_built,
    may_be_skipped,
    missing_requirements,
    needed_resources,
)
from attention_atlas.workflow.shared_inputs import caches
from attention_atlas.workflow.study import Artifact, Study, artifacts_of, is_part_of, studies


@dataclass(frozen=True)
class ListedArtifact:
    study: Study
    artifact: Artifact
    skipped: str = ""  # why the run does not build it; empty if it does

    def paths(self, run: str) -> list[str]:
        return self.study.paths(self.artifact, run)


def listed_artifacts(config: Config, run: str) -> list[ListedArtifact]:
    """Artefacts of the studies of a run, by the configuration `without_missing`, in the order of their declarations."""
    named = {**config, "runs": config.get("named_runs", config["runs"])}
    reasons: dict[str, list[str]] = {}
    for need in needed_resources(named, config, artifacts_of(named, [run])):
        for name in need.skipped:
            reasons.setdefault(name, []).append(need.sentence)
    listed = []
    for study in studies().values():
        if study.id not in config["runs"][run]:
            continue
        for artifact in study.artifacts:
            if absent := [key for key in artifact.needs if not named["runs"][run][study.id].get(key)]:
                reason = f"The run names no {' and no '.join(absent)} (runs.{run}.{study.id})."
            elif is_built(config, run, study, artifact):
                reason = ""
            else:
                reason = " ".join(reasons.get(f"{study.id}/{artifact.id}", [])) or "A corpus or model that it needs is missing."
            listed.append(ListedArtifact(study, artifact, reason))
    return listed


def built_tables(config: Config, run: str) -> dict[str, str]:
    """`study/name` -> file, for all tables of the studies that a run builds; overviews are built from these."""
    tables: dict[str, str] = {}
    for study in studies().values():
        if study.overview or study.id not in config["runs"][run]:
            continue
        for artifact in study.artifacts:
            if is_built(config, run, study, artifact):
                names = [name for name in artifact.files if name.endswith(".tsv")]
                tables |= {f"{study.id}/{PurePosixPath(name).stem}": study.measured_path(name, run) for name in names}
    return tables


class Targets:
    def __init__(self, config: Config, warn: Callable[[str], None], named: Config | None = None):
        self.config = config
        self.named = config if named is None else named
        self.warn = warn
        self._warned: set[str] = set()

    def artifacts(self, kind: str | None = None, study: str | None = None) -> Callable[[Any], list[str]]:
        """Files of the artefacts of all target runs, optionally of one kind or one study."""

        def files(wildcards: Any) -> list[str]:
            selected = [
                (run, declared, artifact)
                for run, declared, artifact in artifacts_of(self.named)
                if study in (None, declared.id) and kind in (None, artifact.kind)
            ]
            self._report([one for one in needed_resources(self.named, self.config, selected) if one.state == MISSING])
            built = [one for one in selected if is_built(self.config, *one)]
            return [path for run, declared, artifact in built for path in declared.paths(artifact, run)]

        return files

    def index_pages(self, wildcards: Any) -> list[str]:
        return [studies()["scoreboard"].path("index.html", run) for run in study_runs(self.config, "scoreboard")]

    def attention(self, wildcards: Any) -> list[str]:
        paths: list[str] = []
        missing: dict[str, Requirement] = {}
        for (run, model, corpus), records in caches(self.config).items():
            if absent := missing_requirements(self.config, [model], [corpus]):
                missing |= absent
            else:
                paths += shard_paths(self.config, run, model, corpus, "attention", "safetensors", records)
        self._report(list(missing.values()))
        return list(dict.fromkeys(paths))

    def _report(self, missing: list[Requirement]) -> None:
        """Report missing resources, one line each: as an error, or as a warning if the artefacts that need them are skipped."""
        if not missing:
            return
        needed = [one for one in missing if not may_be_skipped(self.config, one)]
        listed = "\n".join(f"- {text}" for _, text in described(needed or missing))
        if needed:
            raise AtlasError(
                f"Missing, but needed by the target runs ({', '.join(self.config['targets'])}):\n{listed}\n"
                "Put each where it is expected (`make check RUN=...` says more), or set `missing: skip` to build everything "
                "that does not need them."
            )
        if listed not in self._warned:
            self._warned.add(listed)
            self.warn(f"missing; the artefacts that need these are skipped, or built without them:\n{listed}")


Links = list[tuple[str, str]]  # text and address of each link
_COMPARISON = "comparison.html"


def page_links(config: Config, run: str, study: Study, name: str) -> Links:
    """Links of a page (a file below the study's folder, such as table1.html); none for a page that belongs to no artefact."""
    artifact = next((artifact for artifact in study.artifacts if name in artifact.files), None)
    # The atlas of heads has no table with its name.
    if artifact is None or (study.overview and f"{PurePosixPath(name).stem}.tsv" not in artifact.files):
        return []
    tables = [file for file in artifact.files if file.endswith(".tsv")]
    links = [(f"TSV: {file}", _relative(file, name)) for file in tables]
    drawings = [file for file in artifact.files if file.endswith((".svg", ".pdf"))]
    links += [(f"{artifact.number}: {file}", _relative(file, name)) for file in drawings]
    built = (each for each in study.artifacts if _COMPARISON in each.files)
    if name != _COMPARISON and any(is_part_of(config, run, study, each) for each in built):
        links.append((f"Comparison with the paper{'s' if study.overview else ''}", _relative(_COMPARISON, name)))
    sources = [each for each in studies().values() if each.id in config["runs"][run]] if study.overview else [study]
    papers = [each.paper for each in sources if each.paper is not None and each.paper.url]
    return [*links, *((f"Paper: {paper.citation}", paper.url) for paper in papers)]


def _relative(file: str, page: str) -> str:
    """Address of a file from a page; both are below the study's folder."""
    return "../" * (len(PurePosixPath(page).parts) - 1) + file


def made_with(folder: Path) -> list[str]:
    """The versions of libraries on the cards of the models of a run in this folder, each once."""
    return sorted({read_card(card).versions for card in folder.glob("models/*/card.json")} - {""})


def other_versions(config: Config) -> str:
    """A sentence where results of the target runs were made with other versions than those installed; else empty."""
    folders = (Path("results", run) for run in config["targets"])
    others = {versions for folder in folders for versions in made_with(folder)} - {installed_versions()}
    if not others:
        return ""
    return f"results so far were made with {min(others)}, but {installed_versions()} are installed: numbers can differ."


def summary(config: Config, failed: bool = False) -> str:
    """A line for each target run, by the files that exist; if some jobs `failed`, also how to go on."""
    lines: list[str] = []
    for run in config["targets"]:
        listed = listed_artifacts(config, run)
        to_build = [entry for entry in listed if not entry.skipped]
        built = sum(all(Path(path).is_file() for path in entry.paths(run)) for entry in to_build)
        skipped = f", {len(listed) - len(to_build)} skipped" if len(listed) > len(to_build) else ""
        lines.append(f"{run}: {built} of {len(to_build)} tables and figures{skipped}; see results/{run}/index.html")
    return "\n".join([*lines, *(["Start the same command again to continue."] if failed else [])])
