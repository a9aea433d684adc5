"""Jobs of the rules that all studies share: their inputs and resources."""

from __future__ import annotations

from attention_atlas.workflow import costs, passes
from attention_atlas.workflow.work import (
    Job,
    Part,
    Work,
    in_path,
    in_training,
    mlm_head_gflop,
    random_batches,
    translation_vocabulary,
)

_TOKEN_BYTES = 12
"""Bytes of the examples' Parquet file per token, as in the sample run."""

_GFLOP_BEFORE_STATE = 20 * 60 * 25
"""Work of the 20 minutes before a training stores its first state, at 25 GFLOP/s: a slow processor."""

PADDING_BY_LENGTH = 1.1
"""Tokens with padding per token of the examples, in a batch of examples of similar length."""
PARTS_ON_CPU, PADDING_ON_CPU = 4, 1.2
"""Parts of a random batch of 32 sentences (`models.batch_parts`), and its tokens with padding per token of its examples."""
PARTS_ON_GPU, PADDING_ON_GPU = 2, 1.7
"""The same on a GPU, where a part costs more."""


def _minutes_of_passes(part: Part) -> int:
    """Ten minutes plus the time of the forward passes of a whole shard at 5 GFLOP/s."""
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
    return _training_work(part, PARTS_ON_CPU, PADDING_ON_CPU)


def _fine_tuning_on_gpu(part: Part) -> Work:
    return _training_work(part, PARTS_ON_GPU, PADDING_ON_GPU)


def _training_work(part: Part, parts: int, padding: float) -> Work:
    """All epochs; a random batch is trained in parts of similar length, each padded to its longest example."""
    settings = part.model["training"]
    if not random_batches(part):
        parts, padding = 1, PADDING_BY_LENGTH
    records, tokens = settings["epochs"] * part.records, min(part.tokens * padding, float(part.corpus["max_tokens"]))
    if settings["task"] != "translation":
        return passes.training(part.shape, records, tokens, settings["batch"], part.shape.parameters, parts)
    # A decoder of the encoder's size, and the vocabulary scores.
    size = translation_vocabulary(part) * part.shape.hidden
    whole = passes.stacked(part.shape)
    scores = {"gflop": passes.TRAINING * 2 * records * tokens * size / 1e9}
    parameters = whole.parameters - costs.VOCABULARY * whole.hidden + size
    return passes.added(passes.training(whole, records, tokens, settings["batch"], parameters, parts), scores)


def _checkpoint_bytes(part: Part) -> float:
    """Bytes of the final weights and of the checkpoints of epochs that are kept."""
    settings = part.model["training"]
    translates = settings["task"] == "translation"
    shape = passes.stacked(part.shape) if translates else part.shape
    stored = 2 if settings.get("stored_dtype") == "float16" else 4
    return float(shape.parameters * (stored + 4 * len(settings.get("keep_epochs", ()))))


def _state_bytes(part: Part) -> float:
    """Bytes of two training states, since a new one is written before the previous one is removed; 0 if training takes minutes.

    A state contains the weights and both moments of Adam in float32, and the checkpoints of epochs that are kept.
    """
    if _fine_tuning_work(part)["gflop"] < _GFLOP_BEFORE_STATE:
        return 0.0
    settings = part.model["training"]
    shape = passes.stacked(part.shape) if settings["task"] == "translation" else part.shape
    return 2.0 * 4 * shape.parameters * (3 + len(settings.get("keep_epochs", ())))


def _mlm_head_work(part: Part) -> Work:
    """A forward pass of each masked copy, and the training of the head on the masked tokens."""
    return passes.added(passes.times(part.model["mlm_head"]["copies"], part.forward), {"gflop": mlm_head_gflop(part)})


_FINE_TUNING = Job(
    reads=in_training,
    work=_fine_tuning_work,
    gpu_work=_fine_tuning_on_gpu,
    memory=_fine_tuning_memory,
    passes=_fine_tuning_passes,
    kept_bytes=_checkpoint_bytes,
    scratch_bytes=_state_bytes,
    gpu=True,
    model_bound=True,
)
SHARED_JOBS = {
    "build_examples": Job(
        reads=in_path,
        work=lambda part: {"records": part.records},
        whole_shards=True,
        kept_bytes=lambda part: _TOKEN_BYTES * part.records * part.tokens,
    ),
    "extract_attention": Job(
        reads=in_path,
        work=lambda part: part.forward | {"gcells": part.gcells},
        kept_bytes=lambda part: 2e9 * part.gcells,
        attention=True,
        memory=lambda part: costs.extraction_memory(part.model, part.corpus),
        minutes=_minutes_of_passes,
        passes=lambda part: part.records,
        whole_shards=True,
        gpu=True,
        model_bound=True,
    ),
    "mlm_head": Job(
        reads=in_path,
        work=_mlm_head_work,
        memory=_mlm_head_memory,
        passes=lambda part: 2 * part.model["mlm_head"]["copies"] * part.total,
        gpu=True,
        model_bound=True,
    ),
    "fine_tune": _FINE_TUNING,
    "fine_tune_by_epoch": _FINE_TUNING,
}
"""Rule -> its jobs."""
