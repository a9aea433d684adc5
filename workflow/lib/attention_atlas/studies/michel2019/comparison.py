"""Every published number of Michel et al. (2019) beside this run's, and claims for and against the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019.caption_rules import DISPENSABLE_RULE
from attention_atlas.studies.michel2019.claims import claims
from attention_atlas.studies.michel2019.correlations import SPEARMAN, TRIMMED
from attention_atlas.studies.michel2019.curves import prunable
from attention_atlas.studies.michel2019.kind_removal import dispensable_kinds
from attention_atlas.studies.michel2019.names import IMPORTANCE, LEVEL


def comparison(
    tables: Mapping[str, Any],
    labels: Mapping[str, RunLabel],
    definition: str,
    translator: str,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file; figure5 and figure5_statistics are empty where the run follows no training, table5 and table6
            where it names no further corpus.
        labels: role -> model and corpus of the run.
        definition: of importance, by which this run orders heads.
        translator: the translation model in words.
        out, html_out: every published value with this run's.
        claims_out, claims_html: `published.claims.CLAIM_COLUMNS`.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    parts = [frame for name, frame in frames.items() if name.endswith("_statistics")]
    frames["statistics"] = pd.concat(parts, ignore_index=True).fillna({"part": ""})
    frames["quantities"] = quantities(_quantities(frames))
    frames["correlations"] = _with_other_statistics(frames["correlations"])
    published = load_published("michel2019")
    frame = compare(published, measure(published, frames, labels))
    lines = joint_lines(labels[name] for name in (TRANSLATION, CLASSIFICATION))
    note = (
        "A number is compared only with the same model on the same data. Ids that contain rerun are from a third party that "
        "ran the authors' code."
    )
    write_comparison(frame, out, html_out, "Michel et al. 2019: published values and this run", lines, note)
    notes = [
        *lines,
        "Claims of the paper, and objections of later work, tested on this run's models. Changes in score are tested "
        "against one BLEU point or percentage point, since the paper does not define a noticeable loss; their intervals "
        "include one extra loss and one extra gain, so that they have some width even where no example changes. Figure 2: "
        "at each end the wider of two intervals, by bootstrap over heads and over examples.",
        f"Translation model: {translator}.",
        *(
            [f"{DISPENSABLE_RULE}. Here: {'; '.join(dispensable)}."]
            if (dispensable := dispensable_kinds(frames["figure4"]).values())
            else []
        ),
    ]
    write_claims(claims(frames, definition), claims_out, claims_html, "Michel et al. 2019: claims and this run", notes)


def _quantities(frames: Mapping[str, pd.DataFrame]) -> Iterator[Quantity]:
    encoder = frames["table1"][frames["table1"]["kind"] == "enc_enc"]
    yield Quantity("significant_heads", int((encoder["p"] < LEVEL).sum()), len(encoder))
    sizes = frames["head_importance"].groupby("task")["head"].max()
    for name, table in ((TRANSLATION, "table5"), (CLASSIFICATION, "table6")):
        # The paper counts layers whose head is selected on a separate set (section 3.3), which are those of these tables.
        if table in frames:
            worse = (frames[table]["p"] < LEVEL) & (frames[table]["delta"] < 0)
            yield Quantity(f"layers_not_worse_{name}", 100 * float((~worse).mean()), len(worse))
        curve = _curve(frames["figure3"], name, IMPORTANCE)
        yield Quantity(f"prunable_{name}", prunable(curve), int(curve["n"].iloc[0]))
        yield Quantity(f"share_of_a_head_{name}", 100 / float(sizes[name]))
    figure4 = frames["figure4"]
    cross = figure4[figure4["kind"] == "enc_dec"]
    above_half = cross.loc[cross["score"] >= cross["baseline"] / 2, "percent"].max()
    yield Quantity("half_left_encoder_decoder", float(above_half), int(cross["n"].iloc[0]))
    at_80 = figure4[(figure4["kind"] != "enc_dec") & (figure4["percent"] == 80)]
    if len(at_80):
        yield Quantity("self_attention_at_80", float(at_80["score"].min()), int(at_80["n"].iloc[0]))


def _with_other_statistics(table: pd.DataFrame) -> pd.DataFrame:
    """The correlations with a column `beside`: the experiment's Spearman correlation and Pearson's without extremes."""
    values = table.pivot(index="experiment", columns="statistic", values="value")
    texts = [
        f"Spearman {values.loc[name, SPEARMAN]:.2f}, Pearson without extremes {values.loc[name, TRIMMED]:.2f}"
        for name in table["experiment"]
    ]
    return table.assign(beside=texts)


def _curve(figure3: pd.DataFrame, experiment: str, order: str, draw: int = 0) -> pd.DataFrame:
    in_curve = (figure3["experiment"] == experiment) & (figure3["order"] == order) & (figure3["draw"] == draw)
    return figure3[in_curve].sort_values("percent")
