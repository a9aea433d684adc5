"""What every head attends to on the atlas's sentences: the examples that the page shows with its measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import read_examples
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_table
from attention_atlas.methods.attended_pairs import PAIRS, PART_OF_SPEECH, RELATION, attended, kinds_of_pairs

_COLUMNS_OF_KINDS = {"relation": RELATION, "part_of_speech": PART_OF_SPEECH}
ATTENDED_PAIRS = [*PAIRS, *_COLUMNS_OF_KINDS, "sentence"]
"""Columns of the table of strongest pairs: the kinds of a pair as in the table of kinds, empty if the corpus has none; words of
a sentence are separated by spaces and contain none."""


def write_attended(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    limit: int,
    count: int,
    pairs_out: str | Path,
    kinds_out: str | Path,
) -> None:
    """Write the strongest pairs of each head, columns `ATTENDED_PAIRS`, and shares of kinds of pairs, columns `KINDS`.

    Args:
        shards, example_files: attention and the sentences with their trees, in order.
        limit: use at most this many records of the corpus.
        count: number of pairs per head.
        pairs_out, kinds_out: files to write.

    Raises:
        AtlasError: see `attended`.
    """
    examples = {example.record: example for example in read_examples(example_files, limit)}
    cached = progress(read_attention(shards, limit), total=len(examples), label="attended pairs")
    result = attended(cached, examples, count)
    records = result.pairs["record"].unique()
    texts = {record: _one_line(examples[record].words) for record in records}
    kinds = {record: kinds_of_pairs(examples[record]) for record in records}
    columns = {
        column: [
            kinds[row.record][of][row.query - 1, row.key - 1] if of in kinds[row.record] else ""
            for row in result.pairs.itertuples()
        ]
        for column, of in _COLUMNS_OF_KINDS.items()
    }
    pairs = result.pairs.assign(**columns, sentence=result.pairs["record"].map(texts))
    write_table(pairs[ATTENDED_PAIRS], pairs_out)
    write_table(result.kinds, kinds_out)


def _one_line(words: Sequence[str]) -> str:
    return " ".join("\N{NO-BREAK SPACE}".join(word.split()) or "_" for word in words)


def pair_cards(table: pd.DataFrame, places: pd.DataFrame) -> tuple[list[str], list[list[list[float | dict[str, str]]]]]:
    """Sentences with pairs, and [head] pairs by rank as [sentence, query, key, weight, kinds]; word positions from 0.

    kinds: what defines the kind (as in `kind_cards`) -> kind.

    Args:
        table: columns `ATTENDED_PAIRS`.
        places: layer, head of the model's heads, in order.
    """
    sentences = table.drop_duplicates("record").sort_values("record")
    number = {record: k for k, record in enumerate(sentences["record"])}
    by_place = dict(list(table.sort_values("rank").groupby(["layer", "head"], sort=False)))
    return sentences["sentence"].tolist(), [
        [
            [
                *(number[row.record], row.query - 1, row.key - 1, round(float(row.weight), 4)),
                {
                    of: kind
                    for column, of in _COLUMNS_OF_KINDS.items()
                    if isinstance(kind := getattr(row, column), str) and kind
                },
            ]
            for row in by_place.get(place, table.iloc[:0]).itertuples()
        ]
        for place in places.itertuples(index=False, name=None)
    ]


def kind_cards(table: pd.DataFrame, places: pd.DataFrame, most: int) -> list[dict[str, list[list[str | float]]]]:
    """[head] what defines the kind -> [kind, share, even share] of the kinds of pairs with the largest shares.

    Args:
        table: columns `attended_pairs.KINDS`.
        places: layer, head of the model's heads, in order.
        most: maximum number of kinds.
    """
    by_place = dict(list(table.sort_values("share", ascending=False, kind="stable").groupby(["layer", "head"], sort=False)))
    return [
        {
            str(of): [
                [row.kind, round(float(row.share), 5), round(float(row.even_share), 5)] for row in rows.head(most).itertuples()
            ]
            for of, rows in by_place.get(place, table.iloc[:0]).groupby("of")
        }
        for place in places.itertuples(index=False, name=None)
    ]
