"""Models with a task head: classes and scores of sentences, answers to questions, tags of words, translations."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.batches import EXTRACTION_TOKENS, SEARCH_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.cache import unit_starts
from attention_atlas.attention.engine import watch
from attention_atlas.attention.plans import Plan
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.corpora.alignment import SPECIAL, open_tokenizer
from attention_atlas.corpora.examples import Example, question_of
from attention_atlas.corpora.keyphrases import BEGIN, INSIDE, OUTSIDE
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.loading import class_with_head, initialised, load_trained

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
UNCOUNTED = -100  # label of tokens that are excluded from the loss
load_classifier = functools.partial(load_trained, task="labels")
load_answering = functools.partial(load_trained, task="questions")


def load_tagger(entry: Mapping[str, Any]) -> PreTrainedModel:
    """A tagger in float32 (derivatives by head gates are small)."""
    return load_trained({**entry, "dtype": "float32"}, "tags")


@torch.inference_mode()
def logits(model: PreTrainedModel, examples: Sequence[Example], pad: int) -> torch.Tensor:
    """[example, class] scores of each class in float32, or [example, 1] predicted scores, in the order of the examples."""
    batches = list(batch_by_length(examples, EXTRACTION_TOKENS))
    batch_logits = [model(**model_inputs(model, batch, pad)).logits.float().cpu() for batch in batches]
    return torch.cat(batch_logits)[_places(batches, examples)]


def logits_under(model: PreTrainedModel, examples: Sequence[Example], plans: Sequence[Plan], pad: int) -> torch.Tensor:
    """[1 + plan, example, class] scores of the unchanged model and under each plan, in the order of the examples."""
    batches = list(batch_by_length(examples, EXTRACTION_TOKENS))
    scores = torch.zeros(1 + len(plans), len(examples), len(classes_of(model)))
    start = 0
    for batch in progress(batches, label="batches of examples"):
        inputs = model_inputs(model, batch, pad)
        for number, output in enumerate(outputs_under(model, inputs, ((plan, None) for plan in plans))):
            scores[number, start : start + len(batch)] = output.logits.float().cpu()
        start += len(batch)
    return scores[:, _places(batches, examples)]


def _places(batches: Sequence[Sequence[Example]], examples: Sequence[Example]) -> list[int]:
    """For each example, its row in the concatenated batches."""
    rows = {example.record: row for row, example in enumerate(chain.from_iterable(batches))}
    return [rows[example.record] for example in examples]


@torch.inference_mode()
def untrained_logits(
    entry: Mapping[str, Any], examples: Sequence[Example], pad: int, classes: int, seeds: Sequence[int], device: str = "cpu"
) -> torch.Tensor:
    """[seed, example, class] scores of a pre-trained encoder with a random output layer; the encoder runs once."""
    model, _ = initialised(class_with_head("labels"), entry, num_labels=classes)
    model = model.to(device).eval().requires_grad_(False)
    classifier = model.classifier
    assert isinstance(classifier, torch.nn.Module)
    layer_inputs: list[torch.Tensor] = []
    hook = classifier.register_forward_hook(lambda _, inputs, __: layer_inputs.append(inputs[0].clone()))
    batches = list(batch_by_length(examples))
    for batch in batches:
        model(**model_inputs(model, batch, pad))
    hook.remove()
    seed_logits = []
    for seed in seeds:
        torch.manual_seed(seed)
        for module in classifier.modules():
            model._init_weights(module)
        seed_logits.append(torch.cat([classifier(part).float().cpu() for part in layer_inputs])[_places(batches, examples)])
    return torch.stack(seed_logits)


def labels_of(examples: Sequence[Example]) -> list[str]:
    labels = [example.label for example in examples]
    if not examples or None in labels:
        raise AtlasError(
            "there is nothing to train on or to evaluate on: the examples have no labels. Use a corpus with reader glue."
        )
    return [str(label) for label in labels]


def predicted(scores: torch.Tensor, classes: Sequence[str], regression: bool) -> list[str]:
    """Names of the classes with the largest scores [example, class], or the scores themselves."""
    if regression:
        return [f"{value:.6g}" for value in scores[:, 0].tolist()]
    return [classes[k] for k in scores.argmax(dim=1).tolist()]


def classes_of(model: PreTrainedModel, labels: Sequence[str] = ()) -> list[str]:
    """Names of the outputs of a model with a classification head, in order; an error if it has not all of these labels."""
    names = [str(name) for _, name in sorted((model.config.id2label or {}).items(), key=lambda item: int(item[0]))]
    if not set(labels) <= set(names):
        raise AtlasError(
            f"{model.config.name_or_path}: this model knows the labels {', '.join(names)}, but the corpus has "
            f"{', '.join(sorted(set(labels)))}: name a corpus of the model's task."
        )
    return names


LONGEST_ANSWER = 30  # maximum number of tokens in an answer, as in the published evaluation scripts for SQuAD


def span_of_pieces(example: Example) -> tuple[int, int] | None:
    """First and last token of the first reference answer, None if the window does not contain it."""
    if example.question is None or example.question.span is None:
        return None
    first, stop = example.question.span
    inside = [piece for piece, word in enumerate(example.word) if first <= word < stop]
    return inside[0], inside[-1]


def passage_pieces(batch: Sequence[Example], length: int) -> torch.Tensor:
    """[example, length] whether a token belongs to the passage, and not to padding, question or special tokens."""
    allowed = torch.zeros((len(batch), length), dtype=torch.bool)
    for row, example in enumerate(batch):
        allowed[row, : len(example.word)] = torch.tensor(example.word) >= question_of(example).size
    return allowed


def best_spans(
    start: torch.Tensor, end: torch.Tensor, allowed: torch.Tensor, longest: int = LONGEST_ANSWER
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The span of at most `longest` passage tokens with the largest sum of start and end score.

    `start`, `end`: [example, token] scores; `allowed`: [example, token] from `passage_pieces`. Returns first token, last token
    and score of each example, [example] each.
    """
    length = start.shape[1]
    low = torch.finfo(torch.float32).min / 4
    first, last = start.float().masked_fill(~allowed, low), end.float().masked_fill(~allowed, low)
    # Ends 0 .. longest - 1 tokens after each start, but not beyond the input.
    windows = torch.nn.functional.pad(last, (0, longest - 1), value=low).unfold(1, longest, 1)
    scores, place = (first[:, :, None] + windows).flatten(1).max(dim=1)
    starts = place // longest
    return starts, (starts + place % longest).clamp(max=length - 1), scores


def answer_texts(
    batch: Sequence[Example], start: torch.Tensor, end: torch.Tensor, allowed: torch.Tensor
) -> list[tuple[str, float]]:
    """Answer (whole words of the passage) and score for each example of a batch."""
    spans = zip(batch, *(values.tolist() for values in best_spans(start, end, allowed)), strict=True)
    return [(question_of(e).text(e.word[first], e.word[last] + 1), score) for e, first, last, score in spans]


TAGS = (BEGIN, INSIDE, OUTSIDE)  # tags in the order of a model's outputs


def gold_tags(example: Example) -> tuple[str, ...]:
    if "tags" not in example.layers:
        raise AtlasError(f"example {example.id} has no tags: use a corpus with reader keyphrases.")
    return example.layers["tags"]


def first_pieces(example: Example) -> list[int]:
    """Position of the first token of each word."""
    return [int(k) for k in unit_starts(example.word) if example.word[k] != SPECIAL]


def tag_numbers(example: Example) -> list[int]:
    """For the first token of each word, the number of the word's tag (`TAGS`); for others, the label that the loss ignores."""
    numbers = [UNCOUNTED] * len(example.input_ids)
    for place, tag in zip(first_pieces(example), gold_tags(example), strict=True):
        numbers[place] = TAGS.index(tag)
    return numbers


def tags_under(model: PreTrainedModel, examples: Sequence[Example], plans: Sequence[Plan], pad: int) -> list[list[str]]:
    """[1 + plan][example] tags of the words as one string of letters, for the unchanged model and under each plan."""
    rows = {example.record: row for row, example in enumerate(examples)}
    tags = [[""] * len(examples) for _ in range(1 + len(plans))]
    for batch in progress(list(batch_by_length(examples, EXTRACTION_TOKENS)), label="batches of documents"):
        inputs = model_inputs(model, batch, pad)
        places = [first_pieces(example) for example in batch]
        for number, output in enumerate(outputs_under(model, inputs, ((plan, None) for plan in plans))):
            best_tags = output.logits.argmax(dim=-1).cpu()
            for example, piece_tags, first_places in zip(batch, best_tags, places, strict=True):
                tags[number][rows[example.record]] = "".join(TAGS[k] for k in piece_tags[first_places].tolist())
    return tags


def tag_loss(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
    """Cross-entropy of the tags, summed over the words of a batch."""
    rows = [torch.tensor(tag_numbers(example), device=model.device) for example in batch]
    targets = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=UNCOUNTED)
    logits = model(**inputs).logits.float()
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, ignore_index=UNCOUNTED, reduction="sum")


_ROOM = 10  # a translation may have twice the tokens of its sentence plus this number


def references_of(examples: Sequence[Example]) -> list[str]:
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
    unchanged_encoder = [number for number, (encoder, _) in enumerate(parts) if not (encoder.edits or encoder.gates)]
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
                    # Translation models inherit `generate` from GenerationMixin.
                    pieces = model.generate(encoder_outputs=copy, attention_mask=inputs["attention_mask"], **options)
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
    before = model.prepare_decoder_input_ids_from_labels(labels=labels)  # the token before each label, the start token first
    logits = model(**inputs, decoder_input_ids=before, use_cache=False).logits.float()
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, ignore_index=UNCOUNTED, reduction="sum")


def search(model: PreTrainedModel, pieces: int, beams: int) -> dict[str, Any]:
    """Arguments of a deterministic beam search for sentences of up to this many tokens."""
    longest = 2 * pieces + _ROOM
    if positions := getattr(model.config, "max_position_embeddings", None):
        longest = min(longest, positions - 1)
    # A checkpoint's settings may disable the cache, as in training. The length penalty is that of the released code.
    options = {"do_sample": False, "use_cache": True, "max_new_tokens": longest}
    return options | {"num_beams": beams, "length_penalty": 1.0}
