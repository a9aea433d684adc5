"""Input and parameter functions of the rules: what Snakemake calls with the wildcards of a job."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from attention_atlas.workflow.runs import Config

if TYPE_CHECKING:
    from attention_atlas.workflow.inputs.study import StudyInputs


def study_inputs(config: Config, study: str) -> StudyInputs:
    """The inputs of a study: `INPUTS` of the module here that is called as the study."""
    inputs: StudyInputs = importlib.import_module(f"{__name__}.{study}").INPUTS(config)
    return inputs
