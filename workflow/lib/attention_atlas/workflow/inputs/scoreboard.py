"""Inputs and parameters of the scoreboard: comparisons and claims of all studies that a run builds."""

from __future__ import annotations

import functools
from collections.abc import Callable

from attention_atlas.workflow.inputs.shared import Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.studies import studies, study_corpora
from attention_atlas.workflow.targets import built_tables


class ScoreboardInputs(StudyInputs):
    """Input and parameter functions of the scoreboard."""

    def __init__(self, config: Config):
        super().__init__(config, "scoreboard")
        self._built_tables = functools.cache(functools.partial(built_tables, config))

    def tables(self, name: str) -> Callable[[Wildcards], dict[str, str]]:
        """Study -> its table of this name, for those that have one."""

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
            for study in studies()
            if study in self.config["runs"][run]
            for corpus in study_corpora(self.config, run, study).values()
        )


INPUTS = ScoreboardInputs
