"""Records of edge probing from a file, one after the other, as jobs build those of a sample."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attention_atlas.corpora.edges import EdgeRecord, edges_records


def read_edge_records(form: str, tasks: Sequence[str], raw: Path, *companion: Path, **options: Any) -> Iterator[EdgeRecord]:
    return (build() for build in edges_records(raw, form, tasks, *companion, **options))
