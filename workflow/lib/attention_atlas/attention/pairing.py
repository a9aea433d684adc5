"""Examples with their attention: both must come from the same corpus, in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError


def with_attention(examples: Iterable[Example], cached: Iterable[CachedExample]) -> Iterator[tuple[Example, CachedExample]]:
    """Yield each example with its attention.

    Raises:
        AtlasError: the cache has different examples, or fewer.
    """
    cached_examples = iter(cached)
    for number, example in enumerate(examples):
        cached_example = next(cached_examples, None)
        if cached_example is None:
            raise AtlasError(
                f"the attention cache ends after {number} examples, before {example.id}: delete the attention folder of this "
                "corpus and run again."
            )
        if (example.record, example.id) != (cached_example.record, cached_example.id):
            raise AtlasError(
                f"the attention cache has example {cached_example.id} in place of {example.id}: delete the "
                "attention folder of this corpus and run again."
            )
        yield example, cached_example
