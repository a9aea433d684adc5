"""GAP: which of two names the attention of a pronoun prefers, by gender: a balanced check of Table 2, not in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.attention.pairing import with_attention
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.corpora.mentions import Mention
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.progress import progress
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import accuracy_rows
from attention_atlas.methods.units import Units, independent_units
from attention_atlas.stats.held_out import Bools, Resampling
from attention_atlas.studies.clark2019.systems import ALL, BEST_HEAD, shown_rows, system_columns, system_rows

DIRECTIONS = ("pronoun_to_name", "name_to_pronoun")
GENDERS = (ALL, "masculine", "feminine")
_MASCULINE = frozenset({"he", "him", "his", "himself"})
NEAREST, FIRST, CHANCE = "nearest_name", "first_name", "chance"
COLUMNS = tuple(system_columns("gender"))
_NAMES = {
    CHANCE: "One of two at random",
    FIRST: "The name that comes first",
    NEAREST: "The name nearest to the pronoun",
    BEST_HEAD: "Best attention head",
}


@dataclass(frozen=True)
class Choice:
    """One passage with two names, of which the pronoun refers to one.

    Attributes:
        pronoun: words start .. stop - 1.
        right, wrong: the name that the pronoun refers to, and the name that it does not refer to, in the same form.
        masculine: whether the pronoun is masculine.
    """

    pronoun: tuple[int, int]
    right: tuple[int, int]
    wrong: tuple[int, int]
    masculine: bool


def choice_of(example: Example) -> Choice | None:
    """The choice between the names of a passage; None if the pronoun refers to neither or both.

    Raises:
        AtlasError: the example is no passage of GAP.
    """
    by_role: dict[str, Mention] = {m.role: m for m in example.mentions or ()}
    if not {"pronoun", "A", "B"} <= set(by_role):
        raise AtlasError(f"example {example.id} has no pronoun and two names: this table needs a corpus of reader gap.")
    names = [by_role["A"], by_role["B"]]
    right = [m for m in names if m.cluster == by_role["pronoun"].cluster]
    if len(right) != 1:
        return None
    wrong = names[1] if right[0] is names[0] else names[0]
    pronoun = by_role["pronoun"]
    masculine = example.words[pronoun.start].lower() in _MASCULINE
    return Choice((pronoun.start, pronoun.stop), (right[0].start, right[0].stop), (wrong.start, wrong.stop), masculine)


def preferred(maps: npt.NDArray[np.floating], special: Bools, choice: Choice) -> Bools:
    """Whether every head prefers the right name.

    From pronoun to name, the preferred name is the one whose words get more attention from the pronoun, summed over its words.
    From name to pronoun, it is the one whose words attend more to the pronoun, on average. A tie counts as wrong.

    Args:
        maps: [layer, head, m, m] over words and special tokens.
        special: [m] which rows are special tokens.
        choice: the passage.

    Returns:
        [direction, layer, head]
    """
    words = np.flatnonzero(~special)
    pronoun = words[slice(*choice.pronoun)]
    names = [words[slice(*span)] for span in (choice.right, choice.wrong)]
    to_names = [maps[..., pronoun[:, None], name].sum(axis=-1).mean(axis=-1) for name in names]
    from_names = [maps[..., name[:, None], pronoun].sum(axis=-1).mean(axis=-1) for name in names]
    return np.stack([to_names[0] > to_names[1], from_names[0] > from_names[1]])


def baselines_of(choice: Choice) -> dict[str, bool]:
    """Whether the nearest and the first name are right; distance counts words between pronoun and name."""

    def distance(span: tuple[int, int]) -> int:
        return span[0] - choice.pronoun[1] if span[0] > choice.pronoun[0] else choice.pronoun[0] - span[1]

    return {NEAREST: distance(choice.right) < distance(choice.wrong), FIRST: choice.right[0] < choice.wrong[0]}


def measure_gap(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    limit: int,
    resampling: Resampling,
    label: RunLabel,
    out: str | Path,
    heads_out: str | Path,
    html_out: str | Path,
) -> None:
    """Score all heads and baselines on all passages and write the tables.

    Args:
        shards, example_files: attention and examples of the passages, in order.
        limit: use at most this many records of the corpus.
        resampling: folds and bootstrap, over the pages that passages are taken from, or passages where the corpus names none.
        label: run, model and corpus.
        out: columns `COLUMNS`.
        heads_out: gender, layer, head, direction, n, correct, accuracy.
        html_out: page with accuracies by gender and their ratio.

    Raises:
        AtlasError: the cache cannot be used, or no passage has exactly one right name.
    """
    examples = list(read_examples(example_files, limit))
    cached = progress(read_attention(shards, limit), total=len(examples), label="passages")
    choices, heads, units = _scored(examples, cached)
    masculine = np.asarray([choice.masculine for choice in choices])
    of_gender = {ALL: np.ones(len(choices), bool), "masculine": masculine, "feminine": ~masculine}
    by_rule = [baselines_of(choice) for choice in choices]
    baselines = {CHANCE: np.full(len(choices), 0.5)}
    baselines |= {name: np.asarray([right[name] for right in by_rule], float) for name in (FIRST, NEAREST)}
    table = system_rows(heads, DIRECTIONS, baselines, ("gender", of_gender), units, resampling)
    write_table(table, out)
    frames = []
    for gender, members in of_gender.items():
        frame = accuracy_rows(heads[members], DIRECTIONS)
        frame.insert(0, "gender", gender)
        frames.append(frame)
    write_table(pd.concat(frames, ignore_index=True), heads_out)
    _page(table, len(examples) - len(choices), label, html_out)


def _scored(examples: Sequence[Example], cached: Iterable[CachedExample]) -> tuple[list[Choice], Bools, Units]:
    choices, heads, documents = [], [], []
    for example, maps in with_attention(examples, cached):
        choice = choice_of(example)
        if choice is not None:
            choices.append(choice)
            documents.append(example.document)
            heads.append(preferred(maps.word_maps(), maps.special_units, choice))
    if not choices:
        raise AtlasError("no passage has exactly one name that the pronoun refers to: there is nothing to choose.")
    return choices, np.stack(heads), independent_units(documents, "passages")


def _page(table: pd.DataFrame, undecided: int, label: RunLabel, path: str | Path) -> None:
    best = table[table["system"] == BEST_HEAD].set_index("gender")
    accuracy = table.pivot(index="system", columns="gender", values="accuracy")
    ratio = (accuracy["feminine"] / accuracy["masculine"]).loc[list(_NAMES)]
    heldout = best["heldout_accuracy"]
    unit = best.loc[ALL, "unit"]
    rows = shown_rows(table, "gender", _NAMES, f"held-out selection, by {unit}")
    rows["ratio"] = [*ratio, heldout["feminine"] / heldout["masculine"], np.nan]
    notes = [
        label.line,
        "Share of passages, in %, in which the attention prefers the correct name of two; interval: bootstrap over "
        f"{best.loc[ALL, 'units']} {unit}. {undecided} passages in which the pronoun refers to neither name or to both are "
        f"left out. Best head: {best.loc[ALL, 'direction'].replace('_', ' ')}, chosen on the same passages. Not the "
        "official score of GAP, which scores each name separately.",
    ]
    names = {
        "system": "System",
        ALL: "All",
        "masculine": "Masculine",
        "feminine": "Feminine",
        "ratio": "Feminine / masculine",
    }
    write_html_table(rows, path, "GAP: pronoun resolution by gender", notes, names)
