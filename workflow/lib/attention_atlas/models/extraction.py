"""Extraction: run a model on examples, and store its attention in the cache, or its hidden states in a file."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.attention.batches import EXTRACTION_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.cache import CachedExample, to_words, unit_starts
from attention_atlas.attention.engine import Observer, install, self_attention, watch
from attention_atlas.attention.plans import DECODER_SELF, Site, SiteKind
from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Corpus, Example, ExampleBuilder, read_examples
from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import whole_file
from attention_atlas.io.messages import progress
from attention_atlas.io.shards import cache_facts, new_shard
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.head_weights import ValueNorms
from attention_atlas.models.head_weights import norm_weighted as weighted_by_norms
from attention_atlas.models.loading import load_model, longest_input, text_part

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
Half = npt.NDArray[np.float16]


def extract_shard(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    examples_path: str | Path,
    corpus: str,
    level: str,
    out: str | Path,
    description_out: str | Path,
    threads: int = 1,
) -> None:
    """Write the attention maps of one shard of examples."""
    torch.set_num_threads(threads)
    card = read_card(card_path)
    examples = list(read_examples([examples_path]))
    shapes: dict[int, tuple[int, int, int, int]] = {}
    maps: Iterable[tuple[Example, Half]] = ()
    if examples:
        model = load_model(model_entry, pick_device())
        shapes = map_shapes(model, examples, level)
        maps = each_example(model, examples, card.pad or 0, level, reuse_memory=True)
        size = sum(2 * math.prod(shape) for shape in shapes.values())
        _log.info("%d examples, about %.2f GB of maps", len(examples), size / 1e9)
    with new_shard(out, description_out, shapes, cache_facts(vars(card), corpus, level, examples)) as shard:
        for example, example_maps in maps:
            shard.write(example.record, example_maps)


def maps(model: PreTrainedModel, tokenizer: Any, text: str | Sequence[str], norm_weighted: bool = False) -> CachedExample:
    """Tokens, words and attention [layer, head, n, n] of a text; installs the engine in the part of the model that reads it.

    `text`: words between white space, or the words in order. `norm_weighted`: maps as in `head_weights.norm_weighted`.
    """
    part = text_part(model)
    install(part)
    if not getattr(tokenizer, "is_fast", False):
        raise AtlasError(f"{type(tokenizer).__name__} is no fast tokenizer, which aligns words with word pieces: use another.")
    words = text.split() if isinstance(text, str) else text
    builder = ExampleBuilder({}, "", WordPieces(tokenizer.backend_tokenizer), longest_input(part, tokenizer))
    example = builder.example("text", words, [True] * len(words) if isinstance(text, str) else ())
    if isinstance(example, Dropped):
        raise AtlasError(f"the text has no maps: {example.reason} ({example.detail}).")
    norms = ValueNorms(part) if norm_weighted else None
    ((_, of_text),) = each_example(part, [example], 0, values=None if norms is None else norms.observer)
    if norms is not None:
        of_text = weighted_by_norms(of_text, norms.take(example)).astype(np.float16)
    return CachedExample(0, "text", "tokens", example.tokens, example.word, example.words, of_text)


def attention_maps(
    model: PreTrainedModel, examples: Sequence[Example], pad: int, level: str = "tokens", batch_tokens: int = EXTRACTION_TOKENS
) -> dict[int, Half]:
    """Attention of every example in memory: record -> [layer, head, n, n] float16, in the order of `examples`."""
    maps = {e.record: example_maps for e, example_maps in each_example(model, examples, pad, level, batch_tokens)}
    return {e.record: maps[e.record] for e in examples}


def each_example(
    model: PreTrainedModel,
    examples: Sequence[Example],
    pad: int,
    level: str = "tokens",
    batch_tokens: int = EXTRACTION_TOKENS,
    reuse_memory: bool = False,
    values: Callable[[Sequence[Example]], Observer] | None = None,
) -> Iterator[tuple[Example, Half]]:
    """Yield each example, longest first, with its attention [layer, head, n, n] in float16 without padding.

    Examples of similar length share a batch of at most `batch_tokens` padded tokens. `reuse_memory`: one block of memory for
    all batches, which is faster; maps are then valid until the next batch is requested. `values`: function from the examples of
    a batch to an observer of its value vectors (see `engine.watch`).
    """
    kind, layers, _ = self_attention(model)
    shapes = map_shapes(model, examples, level)
    if _padding_matters(model, kind, examples, pad):
        _log.info("%s reads padding: examples of different lengths do not share a batch", type(model).__name__)
        batch_tokens = 1
    batches = list(batch_by_length(examples, batch_tokens))
    sizes = [sum(math.prod(shapes[e.record]) for e in batch) for batch in batches]
    block = np.empty(max(sizes, default=0) if reuse_memory else 0, np.float16)

    def run(batch: Sequence[Example], places: Sequence[Half], first: bool) -> None:
        """One forward pass, which writes each layer's maps to the places of its examples."""
        seen: list[int] = []

        def keep(site: Site, probabilities: torch.Tensor) -> None:
            if site.site_kind == kind:
                if first:
                    _check_maps(model, site, probabilities[0])
                seen.append(site.layer)
                _store(probabilities, batch, [place[site.layer - 1] for place in places], level)

        inputs = model_inputs(model, batch, pad)
        mask = inputs["attention_mask"]
        observed = [] if values is None else [values(batch)]
        with torch.inference_mode(), watch(model, observers=[keep], values=observed) as session:
            session.batch(mask)
            hidden = model(**inputs)[0]
        if sorted(seen) != list(range(1, layers + 1)):
            raise AtlasError(
                f"{type(model).__name__}: one pass computed the attention of layers {seen}, not that "
                f"of each of its {layers} layers once; use another model."
            )
        if not torch.isfinite(hidden[mask.bool()]).all():
            raise AtlasError(
                f"the model's values are not finite for a batch with example {batch[0].id}. "
                "Check the weights, or set dtype: float32 for this model."
            )

    for number, (batch, size) in enumerate(zip(progress(batches, label="forward passes"), sizes, strict=True)):
        places = _parts(block if reuse_memory else np.empty(size, np.float16), [shapes[e.record] for e in batch])
        run(batch, places, first=number == 0)
        yield from zip(batch, places, strict=True)


def map_shapes(
    model: PreTrainedModel, examples: Sequence[Example], level: str = "tokens"
) -> dict[int, tuple[int, int, int, int]]:
    """Record -> shape of its maps, (layers, heads, n, n), known before the first forward pass."""
    _, layers, heads = self_attention(model)
    sizes = [len(e.input_ids) if level == "tokens" else len(unit_starts(e.word)) for e in examples]
    return {e.record: (layers, heads, n, n) for e, n in zip(examples, sizes, strict=True)}


def _padding_matters(model: PreTrainedModel, kind: SiteKind, examples: Sequence[Example], pad: int) -> bool:
    """Whether the maps of the shortest example change beside the longest one, as in MobileBERT, where tokens see the next."""
    by_length = sorted(examples, key=lambda example: len(example.input_ids))
    if not by_length or len(by_length[0].input_ids) == len(by_length[-1].input_ids):
        return False
    n = len(by_length[0].input_ids)

    def maps_of(batch: Sequence[Example]) -> list[torch.Tensor]:
        maps: list[torch.Tensor] = []

        def keep(site: Site, probabilities: torch.Tensor) -> None:
            if site.site_kind == kind:
                maps.append(probabilities[0, :, :n, :n].float())

        with torch.inference_mode(), watch(model, observers=[keep]):
            model(**model_inputs(model, batch, pad))
        return maps

    pairs = zip(maps_of(by_length[:1]), maps_of([by_length[0], by_length[-1]]), strict=True)
    return any((alone - beside).abs().max() > 0.01 for alone, beside in pairs)


def _check_maps(model: PreTrainedModel, site: Site, maps: torch.Tensor) -> None:
    """Check that one layer's maps [head, query, key] are what their kind of attention says."""
    wrong = ""
    if maps.shape[1] != maps.shape[2]:
        wrong = f"{maps.shape[1]} tokens attend to {maps.shape[2]} keys, which are not the tokens"
    elif (maps[:, 0].float().sum(-1) - 1).abs().max() > 0.01:
        wrong = "the attention of a token does not sum to 1"
    elif maps.shape[1] > 2 and (site.site_kind == DECODER_SELF) != (maps.triu(1).amax() == 0):
        wrong = f"it was taken for {site.site_kind} attention, which its maps contradict"
    if wrong:
        raise AtlasError(f"{type(model).__name__}, layer {site.layer}: {wrong}; use another model.")


def _parts(block: Half, shapes: Sequence[tuple[int, ...]]) -> list[Half]:
    """Consecutive parts of an array [cell], in these shapes."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    parts = np.split(block[: ends[-1]], ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _store(probabilities: torch.Tensor, batch: Sequence[Example], places: Sequence[Half], level: str) -> None:
    """Copy one layer's maps [batch, head, N, N] to each example's array [head, n, n], rounded to float16."""
    here = probabilities
    if here.device.type != "cpu":
        # Halves the transfer; sums over the word pieces of words are computed before rounding.
        here = (here.half() if level == "tokens" else here).cpu()
    for row, (example, place) in enumerate(zip(batch, places, strict=True)):
        n = len(example.input_ids)
        cropped = here[row, :, :n, :n]
        if level == "tokens":
            torch.from_numpy(place).copy_(cropped)
        else:
            place[:] = to_words(cropped.float().numpy(), example.word)


def hidden_states(
    model: PreTrainedModel, examples: Sequence[Example], pad: int, batch_tokens: int = EXTRACTION_TOKENS
) -> Iterator[tuple[Example, Half]]:
    """Yield each example, longest first, with its states [layers + 1 (+ 1 for words alone), n, width] in float16.

    Layer 0 is the input of the first layer (words, positions and segments). If a model has embeddings like BERT's, a last row
    contains the normalised word embeddings alone, which published code used as layer 0 (`lexical`).
    """
    words = _word_embeddings(model)
    for batch in progress(list(batch_by_length(examples, batch_tokens)), label="forward passes"):
        inputs = model_inputs(model, batch, pad)
        with torch.inference_mode():
            layers = list(model(**inputs, output_hidden_states=True).hidden_states)
            if words is not None:
                layers.append(words(inputs["input_ids"]))
            # On the model's device, to halve the transfer.
            stacked = torch.stack(layers, dim=1).half().cpu().numpy()
        for row, example in enumerate(batch):
            example_states = stacked[row, :, : len(example.input_ids)]
            if not np.isfinite(example_states).all():
                raise AtlasError(
                    f"the hidden states of example {example.id} are not finite, or too large for float16. Check the "
                    "weights, or set dtype: float32 for this model."
                )
            yield example, example_states


def _word_embeddings(model: PreTrainedModel) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """Function from tokens to normalised embeddings without positions, for models with embeddings like BERT's; else None."""
    embeddings: Any = getattr(model, "embeddings", None)
    words, norm = (getattr(embeddings, name, None) for name in ("word_embeddings", "LayerNorm"))
    if words is None or norm is None or words.embedding_dim != norm.normalized_shape[-1]:
        return None
    return lambda pieces: norm(words(pieces))


class HiddenStates:
    """Hidden states of some word pieces of a corpus, in a file from which they are read one example at a time.

    All examples of a shard go through the model, so that batches, and therefore rounding, do not depend on the selected ones.
    `pieces_of`: positions of the word pieces whose states are stored, in order; an example without any is not stored.
    """

    def __init__(
        self, model: PreTrainedModel, corpus: Corpus, pieces_of: Callable[[Example], Sequence[int]], pad: int, path: str | Path
    ) -> None:
        self.layers, self.lexical = int(model.config.num_hidden_layers), _word_embeddings(model) is not None
        self._shape = self.layers + 1 + self.lexical, int(model.config.hidden_size)
        self._stored: dict[int, tuple[Sequence[str], Sequence[int], int]] = {}
        end = 0
        with whole_file(path) as part, part.open("wb") as stream:
            for examples in corpus.shards:
                pieces = {e.record: pieces_of(e) for e in examples if e.record < corpus.limit}
                for example, states in hidden_states(model, examples, pad) if any(pieces.values()) else ():
                    if selected := pieces.get(example.record):
                        self._stored[example.record] = example.tokens, selected, end
                        stream.write(np.ascontiguousarray(states[:, list(selected)]).data)
                        end += len(selected)
        row, width = self._shape
        self._states = np.memmap(path, np.float16, "r", shape=(end, row * width)) if end else np.empty((0, row * width))

    def __len__(self) -> int:
        return len(self._stored)

    def __getitem__(self, example: Example) -> Half:
        """[layers + 1 (+ 1 for words alone), n, width] of an example; 0 for word pieces whose states are not stored."""
        tokens, pieces, start = self._stored.get(example.record, ((), (), 0))
        if tokens != example.tokens:
            raise AtlasError(f"example {example.id}: it has no hidden states; delete the examples of this run and start again.")
        rows, width = self._shape
        states = np.zeros((rows, len(tokens), width), np.float16)
        states[:, list(pieces)] = self._states[start : start + len(pieces)].reshape(rows, len(pieces), width)
        return states
