"""Untrained translation models: a vocabulary learnt from parallel text, and a configuration for random initialisation."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attention_atlas.corpora.parallel import read_parallel
from attention_atlas.corpora.sampling import sampled
from attention_atlas.io.files import whole_files

_log = logging.getLogger(__name__)
FILES = ("tokenizer.json", "tokenizer_config.json", "config.json")
_PAD, _END, _UNKNOWN = "<pad>", "</s>", "<unk>"


def write_untrained_model(settings: Mapping[str, Any], texts: Sequence[str | Path], folder: str | Path) -> None:
    """Write tokenizer and configuration of a model of Marian's architecture (post-norm transformer, sinusoids, one embedding).

    Args:
        settings: layers, heads, hidden, feed_forward, positions, vocabulary; languages of the text; order, seed, skip
            and records of the corpus, so that the vocabulary is learnt from its records.
        texts: files of a parallel corpus, see `read_parallel`.
        folder: folder for `FILES`; the configuration is written last.

    Raises:
        AtlasError: the text cannot be read.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import MarianConfig, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token=_UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = [_PAD, _END, _UNKNOWN]
    read = partial(read_parallel, texts[0], settings["languages"], *texts[1:])
    first = settings["skip"]
    pairs = sampled(read, settings["order"], settings["seed"], first, first + settings["records"])
    sentences = [text for _, pair in pairs for text in (pair.source, pair.target)]
    trainer = trainers.BpeTrainer(vocab_size=settings["vocabulary"], special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(sentences, trainer)
    pad, end = tokenizer.token_to_id(_PAD), tokenizer.token_to_id(_END)
    assert pad is not None, "the trainer puts the special tokens into the vocabulary"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {_END}", pair=f"$A {_END} $B {_END}", special_tokens=[(_END, end)]
    )
    _log.info("%d vocabulary entries learnt from %d texts", tokenizer.get_vocab_size(), len(sentences))
    configuration = MarianConfig(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=settings["hidden_size"],
        encoder_layers=settings["layers"],
        decoder_layers=settings["layers"],
        encoder_attention_heads=settings["heads"],
        decoder_attention_heads=settings["heads"],
        encoder_ffn_dim=settings["feed_forward"],
        decoder_ffn_dim=settings["feed_forward"],
        max_position_embeddings=settings["positions"],
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=pad,
        eos_token_id=end,
        decoder_start_token_id=pad,
        forced_eos_token_id=None,
    )
    with whole_files(folder, FILES) as scratch:
        fast = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            pad_token=_PAD,
            eos_token=_END,
            unk_token=_UNKNOWN,
            model_max_length=settings["positions"],
        )
        fast.save_pretrained(scratch)
        configuration.save_pretrained(scratch)
