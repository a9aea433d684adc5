"""Translation with encoder-decoder models: beam search under a plan, its loss, and untrained models."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.batches import SEARCH_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.engine import watch
from attention_atlas.attention.plans import Plan
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.corpora.alignment import open_tokenizer
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.records import sampled
from attention_atlas.corpora.text import parallel_records
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import whole_files
from attention_atlas.io.messages import progress

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


_log = logging.getLogger(__name__)
UNCOUNTED = -100  # label of tokens that are excluded from the loss
_ROOM = 10  # A translation may have twice the tokens of its sentence plus this number


def references_of(examples: Sequence[Example]) -> list[str]:
    """The translation of each example."""
    known = [example.label for example in examples if example.label is not None]
    if len(known) < len(examples):
        raise AtlasError("there are examples without a translation: use a corpus with reader parallel.")
    return known


def translation_ids(examples: Sequence[Example], tokenizer: str | Path) -> list[list[int]]:
    """Tokens of the translation of each example, including the end-of-sentence token."""
    return [encoding.ids for encoding in open_tokenizer(tokenizer).encode_batch(references_of(examples))]


def translate_under(
    model: PreTrainedModel,
    examples: Sequence[Example],
    pad: int,
    tokenizer: Tokenizer,
    plans: Sequence[Plan],
    beams: int = 5,
    batch_tokens: int = SEARCH_TOKENS,
) -> list[list[str]]:
    """Translations of all examples by beam search: unchanged, and under each plan."""
    parts = [(plan.part("encoder"), plan.part("decoder")) for plan in (Plan(), *plans)]
    unchanged_encoder = [number for number, (encoder, _) in enumerate(parts) if encoder.changes_nothing]
    changed_encoder = [number for number in range(len(parts)) if number not in set(unchanged_encoder)]
    translations: list[dict[int, str]] = [{} for _ in parts]
    for batch in progress(list(batch_by_length(examples, batch_tokens)), label="batches of sentences"):
        inputs = model_inputs(model, batch, pad)
        options = search(model, inputs["input_ids"].shape[1], beams)
        encoded = outputs_under(model.get_encoder(), inputs, ((parts[number][0], None) for number in changed_encoder))
        plans_of_output = (unchanged_encoder, *([number] for number in changed_encoder))
        for encoder_output, numbers in zip(encoded, plans_of_output, strict=True):
            for number in numbers:
                with torch.inference_mode(), watch(model, plan=parts[number][1]) as session:
                    session.batch(inputs["attention_mask"])
                    # The search writes into the encoder's output: every plan gets a copy.
                    copy = type(encoder_output)(last_hidden_state=encoder_output.last_hidden_state)
                    pieces = _generate(model, encoder_outputs=copy, attention_mask=inputs["attention_mask"], **options)
                texts = tokenizer.decode_batch(pieces.tolist(), skip_special_tokens=True)
                translations[number].update(zip((example.record for example in batch), texts, strict=True))
    return [[of_plan[example.record] for example in examples] for of_plan in translations]


def target_loss(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], pieces: Sequence[Sequence[int]]) -> torch.Tensor:
    """Cross-entropy of the tokens of translations, each given the tokens before it, summed over a batch.

    If a translation is longer than the model's number of positions, only the tokens at these positions count.
    """
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and (overlong := sum(len(piece_ids) > positions for piece_ids in pieces)):
        _log.warning("%d translations are truncated to the model's %d positions", overlong, positions)
    rows = [torch.tensor(piece_ids[:positions], device=model.device) for piece_ids in pieces]
    labels = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=UNCOUNTED)
    previous_pieces = decoder_inputs(model, labels)
    logits = model(**inputs, decoder_input_ids=previous_pieces, use_cache=False).logits.float()
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, ignore_index=UNCOUNTED, reduction="sum")


def decoder_inputs(model: PreTrainedModel, labels: torch.Tensor) -> torch.Tensor:
    """[example, token] the token before each label, starting with the decoder's start token."""
    return model.prepare_decoder_input_ids_from_labels(labels=labels)  # type: ignore[operator]  # only encoder-decoders have it


def _generate(model: PreTrainedModel, **options: Any) -> torch.Tensor:
    return model.generate(**options)  # type: ignore[operator]  # translation models inherit it from GenerationMixin


def search(model: PreTrainedModel, pieces: int, beams: int) -> dict[str, Any]:
    """Arguments of a deterministic beam search for sentences of up to this many tokens."""
    longest = 2 * pieces + _ROOM
    if positions := getattr(model.config, "max_position_embeddings", None):
        longest = min(longest, positions - 1)
    # A checkpoint's settings may disable the cache, as in training. The length penalty is that of the released code.
    options = {"do_sample": False, "use_cache": True, "max_new_tokens": longest}
    return options | {"num_beams": beams, "length_penalty": 1.0}


FILES = ("tokenizer.json", "tokenizer_config.json", "config.json")
_PAD, _END, _UNKNOWN = "<pad>", "</s>", "<unk>"


def write_untrained_model(settings: Mapping[str, Any], texts: Sequence[str | Path], folder: str | Path) -> None:
    """Write tokenizer and configuration of a model of Marian's architecture; the vocabulary is learnt from the texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import MarianConfig, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token=_UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = [_PAD, _END, _UNKNOWN]
    read = partial(parallel_records, texts[0], settings["languages"], *texts[1:])
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
