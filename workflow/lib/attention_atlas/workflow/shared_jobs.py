"""Jobs of the rules that all studies share: what they read, and what that takes."""

from __future__ import annotations

from attention_atlas.workflow import costs
from attention_atlas.workflow.work import Job, Part, Work, in_path, in_training, mlm_head_gflop


def _minutes_of_passes(part: Part) -> int:
    """Ten minutes, and the forward passes of a whole shard at 5 GFLOP/s."""
    flop = part.corpus["shard"] * part.shape.forward_flop(part.corpus["max_tokens"])
    return int(10 + flop / 5e9 / 60)


def _mlm_head_memory(part: Part) -> int:
    return costs.head_training_memory(part.model, part.corpus, part.model["mlm_head"]["copies"], part.total)


def _fine_tuning_memory(part: Part) -> int:
    return costs.fine_tuning_memory(part.model, part.corpus, part.model["training"]["batch"])


def _fine_tuning_passes(part: Part) -> float:
    """Forward and backward passes over all epochs."""
    return float(3 * part.model["training"]["epochs"] * part.total)


def _fine_tuning_work(part: Part) -> Work:
    return {"gflop": 3 * part.model["training"]["epochs"] * part.gflop}


_FINE_TUNING = Job(
    reads=in_training,
    work=_fine_tuning_work,
    memory=_fine_tuning_memory,
    passes=_fine_tuning_passes,
    gpu=True,
    model_bound=True,
)
SHARED_JOBS = {
    "build_examples": Job(reads=in_path, work=lambda part: {"records": part.records}, whole_shards=True),
    "extract_attention": Job(
        reads=in_path,
        work=lambda part: {"gflop": part.gflop, "gcells": part.gcells},
        memory=lambda part: costs.extraction_memory(part.model, part.corpus),
        minutes=_minutes_of_passes,
        passes=lambda part: part.records,
        whole_shards=True,
        gpu=True,
        model_bound=True,
    ),
    "cache_hidden_states": Job(
        reads=in_path,
        work=lambda part: {"gflop": part.gflop, "gstates": part.gstates},
        memory=lambda part: costs.hidden_memory(part.model, part.corpus),
        minutes=_minutes_of_passes,
        passes=lambda part: part.records,
        whole_shards=True,
        gpu=True,
        model_bound=True,
    ),
    "mlm_head": Job(
        reads=in_path,
        work=lambda part: {"gflop": part.model["mlm_head"]["copies"] * part.gflop, "steps": mlm_head_gflop(part)},
        memory=_mlm_head_memory,
        passes=lambda part: 2 * part.model["mlm_head"]["copies"] * part.total,
        gpu=True,
        model_bound=True,
    ),
    "fine_tune": _FINE_TUNING,
    "fine_tune_by_epoch": _FINE_TUNING,
}
"""Rule -> its jobs."""
