"""Masking every head and every layer: one pass that starts at the changed layer against whole passes, the same numbers."""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import install, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example
from attention_atlas.models.task_heads import logits_under
from benchmarks.timing import report, side_by_side

LAYERS, HEADS, EXAMPLES = 6, 12, 4


def run() -> None:
    """Print the ratio; both ways must give the same numbers, within the rounding of fused attention."""
    torch.set_num_threads(2)
    torch.manual_seed(0)
    size = {"hidden_size": 384, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 1536}
    model = BertForSequenceClassification(BertConfig(vocab_size=2000, initializer_range=0.1, **size)).eval()
    install(model)
    generator = np.random.default_rng(0)
    # Lengths as those of pairs in GLUE.
    lengths = np.clip(generator.lognormal(np.log(45), 0.4, EXAMPLES), 12, 128).astype(int)
    examples = [_example(record, int(n), generator) for record, n in enumerate(lengths)]
    plans = [Plan().uniform(layer, head) for layer in range(1, LAYERS + 1) for head in (None, *range(1, HEADS + 1))]
    logits: dict[str, torch.Tensor] = {}

    def sweep() -> None:
        logits["sweep"] = logits_under(model, examples, plans, 0)

    def whole() -> None:
        logits["whole"] = _whole_passes(model, examples, plans)

    reference = "full passes, one per head and layer"
    medians = side_by_side({reference: whole, "from the changed layer on": sweep}, 1)
    torch.testing.assert_close(logits["sweep"], logits["whole"], rtol=0, atol=1e-5)
    print(f"{len(plans)} conditions and the baseline, {EXAMPLES} pairs of {lengths.mean():.0f} pieces on average")
    report(medians, reference)


def _example(record: int, n: int, generator: np.random.Generator) -> Example:
    ids = tuple(int(i) for i in generator.integers(5, 2000, n))
    return Example(record, f"p{record}", ids, (0,) * n, ("x",) * n, tuple(range(n)), ("x",) * n)


def _whole_passes(model: BertForSequenceClassification, examples: list[Example], plans: list[Plan]) -> torch.Tensor:
    """The same batches, every layer of every pass."""
    logits = torch.zeros(1 + len(plans), len(examples), model.config.num_labels)
    for number, plan in enumerate((None, *plans)):
        for batch in batch_by_length(examples):
            inputs = model_inputs(model, batch, 0)
            with torch.inference_mode(), watch(model, plan=plan) as session:
                session.batch(inputs["attention_mask"])
                logits[number, [example.record for example in batch]] = model(**inputs).logits
    return logits
