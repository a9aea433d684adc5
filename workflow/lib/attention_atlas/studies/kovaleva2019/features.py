"""Section 4.4: the page of attention to linguistic features before and after fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.change_statistics import CHANGE, STATISTICS
from attention_atlas.studies.kovaleva2019.measured import MODELS
from attention_atlas.studies.kovaleva2019.names import FEWEST_EXAMPLES, TASK_TITLES, TUNED
from attention_atlas.studies.kovaleva2019.word_features import CORRECTED


def features_page(path: str | Path, statistics_path: str | Path, labels: Mapping[str, RunLabel], html_out: str | Path) -> None:
    """Write the page of the means over heads.

    Args:
        path, statistics_path: features and statistics of `change_tables`.
        labels: task -> run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    grid = read_table(path, ["task", "model", "mode", "feature", "layer", "head", "value", "n", "absent"])
    corrected = grid[grid["mode"] == CORRECTED]
    gone = corrected[corrected["value"].isna() & (corrected["model"] == TUNED)]
    reasons = gone.drop_duplicates(["task", "feature"]).groupby(["task", "absent"], sort=False)["feature"].agg(", ".join)
    means = (
        corrected.groupby(["task", "feature", "model"], sort=False).agg(value=("value", "mean"), n=("n", "first")).reset_index()
    )
    wide = means.pivot(index=["task", "feature"], columns="model", values="value").reindex(columns=list(MODELS))
    wide["change"] = wide[MODELS[1]] - wide[MODELS[0]]
    statistics = read_table(statistics_path, STATISTICS)
    changes = statistics[statistics["statistic"] == CHANGE].set_index(["task", "of"])
    wide[["ci_low", "ci_high"]] = changes[["ci_low", "ci_high"]].reindex(wide.index)
    counts = means.drop_duplicates(["task", "feature"]).set_index(["task", "feature"])["n"]
    shown = wide.assign(n=counts).dropna(subset=list(MODELS)).reset_index()
    best = corrected[corrected["model"] == TUNED].dropna(subset=["value"])
    best = best.loc[best.groupby(["task", "feature"])["value"].idxmax()].set_index(["task", "feature"])
    shown["head"] = [
        f"{best.loc[(t, f), 'layer']}-{best.loc[(t, f), 'head']}" for t, f in zip(shown["task"], shown["feature"], strict=True)
    ]
    shown["task"] = [TASK_TITLES[name] for name in shown["task"]]
    absent = "; ".join(f"{TASK_TITLES[task]}: {features} ({reason})" for (task, reason), features in reasons.items())
    left_out = f" Absent: {absent}." if absent else ""
    notes = [
        *joint_lines(labels.values()),
        "Attention to tokens with a feature before and after fine-tuning: for each head the largest mean attention "
        "(over all rows) to a token with the feature, averaged over the examples that have it. The table has the mean over "
        "all heads, and the head with the largest value after fine-tuning. ci_low to ci_high: interval of the change over "
        f"the n examples, none for fewer than {FEWEST_EXAMPLES}. A token has the features of its word.{left_out}",
    ]
    names = {"base": "Before", "tuned": "After", "head": "Largest after (layer-head)"}
    formats = {"n": "d"} | dict.fromkeys(("base", "tuned", "change", "ci_low", "ci_high"), ".4f")
    write_html_table(
        shown, html_out, "Kovaleva et al. 2019, section 4.4: attention to linguistic features", notes, names, formats
    )
