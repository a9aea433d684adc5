"""What a translation model writes under every mask, in one pass over the sentences."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from attention_atlas.attention.engine import ENCODER_SELF, attention_shape
from attention_atlas.corpora.alignment import open_tokenizer
from attention_atlas.corpora.examples import read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.models.translating import references_of, translate_under
from attention_atlas.studies.michel2019.masks import KEYS, KINDS, UNMASKED, masks
from attention_atlas.tables import write_parquet

_log = logging.getLogger(__name__)
COLUMNS = (*KEYS, "record", "translation", "reference")


def translate_masked(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    beams: int,
    length_penalty: float,
    threads: int,
    out: str | Path,
) -> None:
    """Write a row for every mask and sentence: `COLUMNS`.

    Args:
        model_entry: registry entry of the translation model.
        card_path, tokenizer_path: its card and tokenizer.json.
        example_files: sentences with their translations.
        limit: records that count.
        beams, length_penalty: of the search.
        threads: threads of the forward passes.
        out: Parquet file.

    Raises:
        AtlasError: the model does not translate, or a sentence has no translation.
    """
    torch.set_num_threads(threads)
    examples = list(read_examples(example_files, limit))
    references = references_of(examples)
    if not examples:
        raise AtlasError("there is nothing to translate: use a corpus with reader parallel, and a limit of one or more.")
    model = load_trained(model_entry, "translation", pick_device())
    shape = attention_shape(model)
    if ENCODER_SELF not in shape or len(shape) != len(KINDS):
        raise AtlasError(f"{type(model).__name__} has no encoder and decoder: name a translation model.")
    made = list(masks(shape))
    encoder = [mask for mask in made if KINDS[mask.kind] == ENCODER_SELF]
    decoder = [mask for mask in made if KINDS[mask.kind] != ENCODER_SELF]
    _log.info("%d sentences under %d masks", len(examples), len(made))
    found = translate_under(
        model,
        examples,
        read_card(card_path).pad or 0,
        open_tokenizer(tokenizer_path),
        [mask.plan for mask in encoder],
        [mask.plan for mask in decoder],
        beams,
        length_penalty,
    )
    records = [example.record for example in examples]
    keys = [UNMASKED, *(mask.key for mask in (*encoder, *decoder))]
    frames = [
        pd.DataFrame({**dict(zip(KEYS, key, strict=True)), "record": records, "translation": texts, "reference": references})
        for key, texts in zip(keys, found, strict=True)
    ]
    write_parquet(pd.concat(frames, ignore_index=True), out)
