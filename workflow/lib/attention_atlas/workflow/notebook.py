"""Tables and figures of a built run, drawn again from Python."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from snakemake.iocontainers import Wildcards

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.run import called
from attention_atlas.workflow.shown import Marked
from attention_atlas.workflow.study_inputs import StudyInputs


def of_run(function: Marked, folder: str | Path, overlays: Iterable[str | Path], changes: Mapping[str, Any]) -> Any:
    """What a marked function makes of a built run, see `Marked.of`."""
    folder = Path(folder).resolve()
    root, job = folder.parent.parent, Wildcards(fromdict={"run": folder.name})
    inputs = StudyInputs(resolve(read_configuration(root, overlays) | {"missing": "skip"}), function.study)

    def of_job(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value(job) if callable(value) else value for name, value in values.items()}

    files = {name: f.format(run=job.run) if isinstance(f, str) else f for name, f in of_job(inputs.read_by(function)).items()}
    with contextlib.chdir(root):
        return called(function, files, of_job(inputs.parameters_of(function)), changes)[0]
