"""Input and parameter functions of the rules: what Snakemake calls with the wildcards of a job."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from attention_atlas.workflow.lookups import Config

if TYPE_CHECKING:
    from attention_atlas.workflow.inputs.study import StudyInputs


def study_inputs(config: Config, study: str) -> StudyInputs:
    """The inputs of a study: `INPUTS` of the module here with the study's name, or `StudyInputs` if there is none."""
    name = f"{__name__}.{study}"
    if importlib.util.find_spec(name) is None:
        from attention_atlas.workflow.inputs.study import StudyInputs

        return StudyInputs(config, study)
    inputs: StudyInputs = importlib.import_module(name).INPUTS(config)
    return inputs
