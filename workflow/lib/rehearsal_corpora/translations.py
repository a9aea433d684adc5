"""Parallel text: sacrebleu's folder of test sets, IWSLT 2014, and the test sets tokenised by Moses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attention_atlas.io.files import write_text

Pair = tuple[str, str]


def write_sacrebleu(folder: Path, name: str, pairs: Sequence[Pair]) -> None:
    """Write a test set in sacrebleu's layout: one file for the sentences, one for the translations, one for each fact."""
    base = name.replace("/", "_")
    fields = {"src": [first for first, _ in pairs], "ref": [second for _, second in pairs]}
    if name.startswith("wmt"):
        facts = ("docid", "genre", "origlang")
        fields |= {fact: [value] * len(pairs) for fact, value in zip(facts, ("news.1", "news", "en"), strict=True)}
    for field, lines in fields.items():
        write_text(folder / name / f"{base}.en-fr.{field}", "".join(line + "\n" for line in lines))


def write_lines(folder: Path, name: str, languages: Sequence[str], pairs: Sequence[Pair]) -> None:
    """Write two line-aligned files; one side of one pair is empty, as in IWSLT's files."""
    for side, language in enumerate(languages):
        lines = ["" if k == 1 and side == 1 else pair[side] for k, pair in enumerate(pairs)]
        write_text(folder / f"{name}.{language}", "".join(line + "\n" for line in lines))
