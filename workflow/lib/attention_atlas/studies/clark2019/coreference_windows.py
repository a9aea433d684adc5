"""Table 2 with documents cut after their first tokens, and divided into windows: on the documents in both."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.agreement import census_names, read_names
from attention_atlas.corpora.examples import read_examples
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_table
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.antecedents import head_rule_for, options_of
from attention_atlas.studies.clark2019.coreference import COLUMNS, outcomes, table2_frame

DIVISION_COLUMNS = ("division", "documents", *COLUMNS)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DividedCorpus:
    """A corpus of chains whose documents are divided into windows.

    Attributes:
        division: how: `first` or `all`.
        shards, example_files: attention and examples, in order.
        limit: use at most this many windows.
    """

    division: str
    shards: Sequence[str | Path]
    example_files: Sequence[str | Path]
    limit: int


def compare_windows(
    corpora: Sequence[DividedCorpus],
    options: Mapping[str, Any],
    name_lists: Sequence[str | Path],
    resampling: Resampling,
    out: str | Path,
) -> None:
    """Write Table 2 for each division on the documents that all of them have, columns `DIVISION_COLUMNS`.

    Without such documents the table has no row.

    Args:
        corpora: the same documents divided in different ways.
        options: `CoreferenceOptions` of the run.
        name_lists: masculine and feminine first names, one name per line; empty for those of the census
            (`agreement.census_names`).
        resampling: folds and bootstrap, over documents.
        out: file to write.

    Raises:
        AtlasError: a cache cannot be used, or a corpus has no mentions or no head words by the requested rule.
    """
    base, names = options_of(options), read_names(*name_lists) if name_lists else census_names()
    examples = [list(read_examples(corpus.example_files, corpus.limit)) for corpus in corpora]
    shared = set.intersection(*({example.document for example in windows} for windows in examples))
    frames = [pd.DataFrame(columns=list(DIVISION_COLUMNS))]
    if not shared:
        _log.warning("the divisions into windows have no document in common: raise the limit of their corpora")
    for corpus, windows in zip(corpora, examples, strict=True) if shared else ():
        kept = {example.record for example in windows if example.document in shared}
        cached = progress(read_attention(corpus.shards, corpus.limit), total=len(windows), label=f"windows: {corpus.division}")
        outcome = outcomes(
            [example for example in windows if example.record in kept],
            (example for example in cached if example.record in kept),
            [base],
            [head_rule_for(windows, base.head_rule)],
            names,
        )[0]
        frames.append(table2_frame(outcome, resampling).assign(division=corpus.division, documents=len(shared)))
    write_table(pd.concat(frames[1:] or frames, ignore_index=True)[list(DIVISION_COLUMNS)], out)
