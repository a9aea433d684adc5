"""Inputs and parameters of the scoreboard and the index page: tables, claims and artefacts of all studies that a run builds."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from attention_atlas.workflow.artifact_list import listed_artifacts
from attention_atlas.workflow.inputs.shared import Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.paths import RESULTS
from attention_atlas.workflow.studies import studies, study_corpora
from attention_atlas.workflow.targets import built_tables


class ScoreboardInputs(StudyInputs):
    """Input and parameter functions of the scoreboard."""

    def __init__(self, config: Config):
        super().__init__(config, "scoreboard")
        self._built_tables = functools.cache(functools.partial(built_tables, config))
        self._listed = functools.cache(functools.partial(listed_artifacts, config))

    def tables(self, name: str) -> Callable[[Wildcards], dict[str, str]]:
        """Study -> its table of this name, for studies that have one."""

        def by_study(wildcards: Wildcards) -> dict[str, str]:
            built = self._built_tables(wildcards.run)
            return {study: built[f"{study}/{name}"] for study in studies() if f"{study}/{name}" in built}

        return by_study

    def files(self, wildcards: Wildcards) -> list[str]:
        """Comparisons and claims of all studies."""
        return [path for name in ("comparison", "claims") for path in self.tables(name)(wildcards).values()]

    def reads_sample(self, wildcards: Wildcards) -> bool:
        """Whether a run reads generated text."""
        run = wildcards.run
        return self.config["runs"][run]["stand_ins"] or any(
            "sample" in self.config["corpora"][corpus]["source"]
            for name in studies()
            if name in self.config["runs"][run]
            for corpus in study_corpora(self.config, run, name).values()
        )

    def index_files(self, wildcards: Wildcards) -> list[str]:
        """All files of the artefacts that a run builds."""
        return [path for entry in self._listed(wildcards.run) if not entry.skipped for path in entry.paths(wildcards.run)]

    def index_entries(self, wildcards: Wildcards) -> list[dict[str, Any]]:
        """Entry of each artefact on the index page, see `published.run_index`."""
        run = wildcards.run
        return [
            {
                "study": entry.study.id,
                "study_title": entry.study.title,
                "number": entry.artifact.number,
                "title": entry.artifact.title,
                "kind": entry.artifact.kind,
                "files": [path.removeprefix(f"{RESULTS}{run}/") for path in entry.paths(run)],
                "skipped": entry.skipped,
            }
            for entry in self._listed(run)
        ]

    def index_pages(self, wildcards: Wildcards) -> list[list[str]]:
        """Pages to read first: path below the folder of the run, and title."""
        pages = [["scoreboard.html", "Scoreboard"], ["claims.html", "Claims"], ["atlas/atlas.html", "Atlas of all heads"]]
        built = set(self.index_files(wildcards))
        return [page for page in pages if f"{RESULTS}{wildcards.run}/{page[0]}" in built]


INPUTS = ScoreboardInputs
