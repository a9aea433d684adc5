"""Masking every head of a translation model: one pass over the sentences against separate runs, the same translations."""

from __future__ import annotations

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import MarianConfig, MarianMTModel

from attention_atlas.attention.batches import SEARCH_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.engine import attention_shape, install, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example
from attention_atlas.methods.head_measures import ONE
from attention_atlas.methods.masked_heads import masks
from attention_atlas.models.task_heads import search, translate_under
from benchmarks.timing import report, side_by_side

LAYERS, HEADS, SENTENCES, VOCABULARY, BEAMS = 2, 2, 64, 500, 2
PUBLISHED_BATCH = 64
"""Sentences of a batch, in the order of the file (published code)."""


def run() -> None:
    """Print the ratios; all ways must give the same translations."""
    # Steps of a search are small: a second thread gains nothing.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = _model()
    tokenizer = Tokenizer(models.WordLevel({f"w{k}": k for k in range(VOCABULARY)}, unk_token="w2"))
    generator = np.random.default_rng(0)
    # Lengths as those of news.
    lengths = np.clip(generator.lognormal(np.log(22), 0.5, SENTENCES), 4, 80).astype(int)
    examples = [_example(record, int(n), generator) for record, n in enumerate(lengths)]
    plans = [plan for (masked, *_), plan in masks(attention_shape(model)).items() if masked == ONE]
    translations: dict[str, list[list[str]]] = {}

    def sweep() -> None:
        translations["sweep"] = translate_under(model, examples, 0, tokenizer, plans, BEAMS)

    def separate() -> None:
        batches = list(batch_by_length(examples, SEARCH_TOKENS))
        translations["separate"] = [_translate(model, batches, examples, tokenizer, plan) for plan in (None, *plans)]

    def published() -> None:
        batches = [examples[start : start + PUBLISHED_BATCH] for start in range(0, SENTENCES, PUBLISHED_BATCH)]
        translations["published"] = [_translate(model, batches, examples, tokenizer, plan) for plan in (None, *plans)]

    reference = f"separate runs, {PUBLISHED_BATCH} sentences per batch in the order of the file"
    ways = {reference: published, "separate runs, batches of similar length": separate, "one sweep": sweep}
    medians = side_by_side(ways, 1)
    assert translations["sweep"] == translations["separate"]
    print(f"{len(plans)} heads masked and the baseline, {SENTENCES} sentences of {lengths.mean():.0f} pieces, {BEAMS} beams")
    report(medians, reference)


def _model() -> MarianMTModel:
    """Random weights, which end no translation: each goes on to its bound, twice the pieces of its batch's longest sentence."""
    size = {"d_model": 256, "encoder_layers": LAYERS, "decoder_layers": LAYERS}
    size |= {"encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024}
    heads = {"encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    model = MarianMTModel(
        MarianConfig(vocab_size=VOCABULARY, init_std=0.1, max_position_embeddings=200, **size, **heads, **ids)
    )
    install(model)
    return model.eval()


def _example(record: int, n: int, generator: np.random.Generator) -> Example:
    ids = (*(int(i) for i in generator.integers(5, VOCABULARY, n - 1)), 1)
    return Example(record, f"s{record}", ids, (0,) * n, ("x",) * n, tuple(range(n)), ("x",) * n)


def _translate(
    model: MarianMTModel, batches: list[list[Example]], examples: list[Example], tokenizer: Tokenizer, plan: Plan | None
) -> list[str]:
    """A whole search under one plan, the encoder included."""
    translations = {}
    for batch in batches:
        inputs = model_inputs(model, batch, 0)
        with torch.inference_mode(), watch(model, plan=plan) as session:
            session.batch(inputs["attention_mask"])
            pieces = model.generate(**inputs, **search(model, inputs["input_ids"].shape[1], BEAMS))
        texts = tokenizer.decode_batch(pieces.tolist(), skip_special_tokens=True)
        translations.update(zip((example.record for example in batch), texts, strict=True))
    return [translations[example.record] for example in examples]
