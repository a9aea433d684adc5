"""The figures of Štefánik's study can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, all_heads, combined, generator
from text_boxes import axes_of_figures, saved_figures

from attention_atlas.figures.style import interval_rows
from attention_atlas.studies.stefanik2021 import figures as stefanik_figures
from attention_atlas.studies.stefanik2021.figures import ORDERS
from attention_atlas.studies.stefanik2021.head_measures import METHOD_TITLES

SEEDS = ["0", "1", "2"]


def heads_with(**columns) -> pd.DataFrame:
    return all_heads().drop(columns="kind").assign(**columns)


def noise(scale: float = 1.0) -> np.ndarray:
    return generator().normal(0, scale, 24 * 16)


def of_relative_attention():
    parts = [
        heads_with(value=noise(0.002), n=12345, unit="documents", reduction=name).assign(
            **{f"{kind}_low": lambda rows: rows["value"] - 0.003 for kind in ("ci", "adjusted")},
            **{f"{kind}_high": lambda rows: rows["value"] + 0.003 for kind in ("ci", "adjusted")},
        )
        for name in ("mean", "max")
    ]
    return {"relative_attention": pd.concat(parts)}


def of_head_ranking():
    ranking = heads_with(auc=0.5 + noise(0.1), cross_entropy_none=0.5, slide_entropy=1.0, share=0.0123, n=1234567)
    ranking = ranking.assign(auc_low=ranking["auc"] - 0.1, auc_high=ranking["auc"] + 0.1, documents=12345)
    ranking = ranking.assign(slide_rank=range(1, 385), cross_entropy=0.5 - np.abs(noise(0.002))).sort_values("cross_entropy")
    return {"head_ranking": ranking}


def of_logistic_regression():
    table = heads_with(coefficient=noise(0.3), permutation_importance=noise(1e-4), mix_weight=1 / 384)
    return {"logistic_regression": table.assign(ci_low=table["coefficient"] - 0.4, ci_high=table["coefficient"] + 0.4)}


def tagger_scores(seeds=SEEDS, loss=-30.0):
    keys = {
        "seed": [*seeds, "mean"],
        "model": ["whole", "pruned", "pruned_on_test", "without_heads"],
        "metric": ["token_f1", "phrase_f1"],
    }
    scores = combined(keys, {"heads_removed": 0, "value": 87.6, "ci_low": 80.0, "ci_high": 92.0, "documents": 12345})
    return {"fine_tuning": scores.assign(delta=-1.0, delta_low=loss - 2, delta_high=loss + 2)}


def of_ablation(loss=0.0):
    parts = [
        heads_with(seed=seed, metric="token_f1", baseline=87.6, delta=noise(2), documents=12345, p_adjusted=0.04)
        for seed in [*SEEDS, "mean"]
    ]
    rows = pd.concat(parts).assign(ci_low=-1, ci_high=1, adjusted_low=-1, adjusted_high=1)
    rows["value"] = 87.6 + rows["delta"]
    return {"ablation": rows, "cumulative_ablation": cumulative_removal(), **tagger_scores(loss=loss)}


def cumulative_removal():
    keys = {"seed": SEEDS, "order": list(ORDERS), "draw": range(3), "percent": range(0, 101, 5)}
    rows = combined({**keys, "metric": ["token_f1", "phrase_f1"]})
    rows = rows[(rows["order"] == "random") | (rows["draw"] == 0)]
    steepness = 1 + rows["order"].map(list(ORDERS).index) + 0.2 * rows["seed"].astype(int)
    rows = rows.assign(heads_removed=(3.84 * rows["percent"]).round().astype(int), documents=12345)
    return rows.assign(value=87.6 * (1 - (rows["percent"] / 100) ** steepness))


def of_baselines(encoder="a-sentence-encoder-with-a-long-name"):
    rows = combined({"method": list(METHOD_TITLES), "metric": ["f1_at_5", "f1_at_10", "f1_at_m", "phrase_f1_all_occurrences"]})
    rows = rows.assign(value=np.linspace(3, 97, len(rows)), phrases=12, documents=12345, development_documents=12345)
    rows = rows.assign(encoder=encoder, reference="tf_idf", difference=0.0)
    return {"baselines": rows.assign(ci_low=rows["value"] - 3, ci_high=rows["value"] + 3)}


FRAMES = {
    "relative_attention": of_relative_attention,
    "head_ranking": of_head_ranking,
    "logistic_regression": of_logistic_regression,
    "fine_tuning": tagger_scores,
    "ablation": of_ablation,
    "baselines": of_baselines,
}


def saved(name, frames, folder):
    """The figure as it stands in its file, and its axes."""
    with axes_of_figures() as axes, saved_figures() as figures:
        getattr(stefanik_figures, name)(**frames).write({"png": folder / f"{name}.png"}, {"test": LABEL})
    return figures[0], axes[0]


@pytest.mark.parametrize(
    ("name", "frames"),
    [*((name, frames) for name, frames in FRAMES.items()), ("fine_tuning", partial(tagger_scores, seeds=["0"]))],
)
def test_a_figure_of_the_largest_shape_can_be_read(name, frames, tmp_path):
    assert saved(name, frames(), tmp_path)[0].problems == []


@pytest.mark.parametrize(("loss", "said"), [(0.0, True), (-30.0, False)])
def test_the_footnote_says_where_removals_say_nothing(tmp_path, loss, said):
    texts = " ".join(" ".join(saved("ablation", of_ablation(loss), tmp_path)[0].texts).split())
    assert ("no significant loss with all heads removed" in texts) == said


def test_dots_of_relative_attention_are_simultaneous_for_all_heads(tmp_path):
    """Of 384 heads some exclude 0 by their own intervals without any effect: these get no dot."""
    ends = {"ci_low": 0.001, "ci_high": 0.002, "adjusted_low": -1.0, "adjusted_high": 1.0}
    table = of_relative_attention()["relative_attention"].reset_index(drop=True).assign(**ends)
    table.loc[table["layer"] == 3, ["adjusted_low", "adjusted_high"]] = (-0.2, -0.1)
    axes = saved("relative_attention", {"relative_attention": table}, tmp_path)[1]
    dots = [line for axis in axes for line in axis.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [16, 16], "the heads of layer 3, in both panels"
    assert {float(y) for line in dots for y in line.get_ydata()} == {2.5}


def test_methods_that_read_the_model_are_shaded(tmp_path):
    figure, axes = saved("baselines", of_baselines("minilm"), tmp_path)
    shaded = sorted(round(patch.get_y() + 0.45) for patch in axes[0].patches if patch.get_height() == pytest.approx(0.9))
    names = [name for place, name in enumerate(METHOD_TITLES) if place in shaded]
    assert names == ["best_head", "regression", "fine_tuned"]
    assert "embeddings of minilm" in " ".join(figure.texts)


def test_f1_of_the_slides_is_in_both_panels(tmp_path):
    """The slides do not say whether it is of words or of phrases."""
    axes = saved("fine_tuning", tagger_scores(), tmp_path)[1]
    heights = [[list(line.get_ydata()) for line in axis.lines if line.get_marker() == "D"] for axis in axes[:2]]
    assert heights == [[pytest.approx([36, 37])]] * 2


def test_ticks_of_the_cumulative_removal_are_its_steps(tmp_path):
    frames = of_ablation()
    frames["cumulative_ablation"] = frames["cumulative_ablation"].query("percent % 25 == 0")
    figure, axes = saved("ablation", frames, tmp_path)
    for axis in axes[2:4]:
        assert list(axis.get_xticks()) == [0, 96, 192, 288, 384]
    assert "steps of 25 % of the heads" in " ".join(" ".join(figure.texts).split())


def test_three_rows_of_a_value_have_its_interval():
    table = pd.DataFrame({"name": ["a", "b"], "value": [1.0, 5.0], "ci_low": [0.5, 5.1], "ci_high": [1.5, 4.0]})
    rows = interval_rows(table).groupby("name")["value"]
    assert rows.median().to_dict() == {"a": 1.0, "b": 5.0}
    assert rows.min().to_dict() == {"a": 0.5, "b": 5.0}
    assert rows.max().to_dict() == {"a": 1.5, "b": 5.0}
