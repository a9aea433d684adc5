"""Resources that jobs request: memory, minutes, threads and GPUs, as functions that Snakemake calls for each job."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from attention_atlas.models.devices import gpu_here
from attention_atlas.workflow.costs import typical_tokens
from attention_atlas.workflow.known import with_known_names
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.shared_jobs import SHARED_JOBS
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.work import Job, Part, Place

Resource = Callable[[Any, int], int]
"""Function of the wildcards and the number of the attempt."""
SMALL_FLOP = 3e14
"""Model operations below which a job uses one thread: it takes at most a quarter of an hour, and two such jobs end sooner side
by side than one after the other on two threads (a training step of six layers of width 384: 2.00 s on one thread, 1.14 s on
two)."""

LONG_FLOP = 2e15
"""Model operations above which a job uses four threads: it takes hours on one, and other jobs wait for it."""


def memory(megabytes: int) -> Resource:
    """A fixed number of megabytes, increased after each failure."""

    def grown(wildcards: Any, attempt: int) -> int:
        return megabytes * attempt

    return grown


def minutes(number: int) -> Resource:
    """A fixed number of minutes, increased after each failure."""
    return memory(number)


def find_job(rule: str) -> tuple[str, Job | None]:
    """Study of a rule (empty for the shared rules) and the resources of its jobs; None if they are not declared."""
    name = rule.partition("_")[0]
    declared = studies().get(name)
    if declared is not None and rule != name:
        return name, declared.jobs.get(rule.removeprefix(f"{name}_"))
    return "", SHARED_JOBS.get(rule)


def threads_of(part: Part, passes: float) -> int:
    """Number of threads for `passes` forward passes over single examples: one for a small job, two, or four for a long job."""
    flop = passes * part.shape.forward_flop(typical_tokens(part.corpus))
    return 1 if flop < SMALL_FLOP else 2 if flop < LONG_FLOP else 4


class JobResources:
    """Resources of jobs, by rule name."""

    def __init__(self, config: Config):
        self.config = with_known_names(config)

    def _declared(self, rule: str, wildcards: Any, name: str) -> tuple[Part, Any]:
        """What a job works on, and the value of the function `name` of its `Job` for it."""
        study, job = find_job(rule)
        function: Any = getattr(job, name, None)
        if job is None or function is None:
            raise KeyError(f"{rule}: the declaration of its jobs has no {name}")
        part = job.part(Place(self.config, wildcards.run, study, dict(wildcards.items())))
        return part, function(part)

    def _grown(self, rule: str, name: str) -> Resource:
        def grown(wildcards: Any, attempt: int) -> int:
            _, amount = self._declared(rule, wildcards, name)
            return int(amount) * attempt

        return grown

    def memory(self, rule: str) -> Resource:
        """Megabytes that the rule's job declares, increased after each failure."""
        return self._grown(rule, "memory")

    def scratch(self, rule: str) -> Callable[[Any], int]:
        """Gigabytes of scratch space that the rule's job needs while it runs, rounded up."""
        return lambda wildcards: math.ceil(self._declared(rule, wildcards, "scratch_bytes")[1] / 1e9)

    def minutes(self, rule: str) -> Resource:
        """Minutes that the rule's job declares, increased after each failure."""
        return self._grown(rule, "minutes")

    def threads(self, rule: str) -> Callable[[Any], int]:
        """Threads for the forward passes that the rule's job declares."""
        return lambda wildcards: threads_of(*self._declared(rule, wildcards, "passes"))

    def extraction_priority(self, wildcards: Any) -> float:
        """Above -1 and at most 0: extract one model and corpus after another if the run does not keep attention.

        Readers start once all shards of a model and corpus are written, after which the shards can be removed. If all corpora
        were extracted in parallel, most shards would be on the disk at the same time.
        """
        if self.config["keep_attention"]:
            return 0.0
        models, corpora = list(self.config["models"]), list(self.config["corpora"])
        place = models.index(wildcards.model) * len(corpora) + corpora.index(wildcards.corpus)
        return -place / (len(models) * len(corpora))

    def extractions(self) -> int:
        """Resource of an extraction: 1 if its maps are removed after the last job that reads them, otherwise 0.

        The profile of a cluster limits the sum: on many nodes, all maps would be written before the first of them are removed.
        """
        return int(not self.config["keep_attention"])

    def gpus(self, rule: str) -> int:
        """GPUs of a rule's jobs: one if they run a model and the configuration requests a GPU, or this machine has one."""
        _, job = find_job(rule)
        if job is None or not job.gpu:
            raise KeyError(f"{rule}: its jobs are not declared to run on a GPU")
        wanted = self.config["device"]
        return int(wanted == "cuda" or (wanted == "auto" and gpu_here()))
