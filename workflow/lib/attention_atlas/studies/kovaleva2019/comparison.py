"""Every published number of Kovaleva et al. (2019) beside what a run measured, heads against digitised heads, and claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attention_atlas.corpora.frames import LONGEST_ELEMENT, LONGEST_SENTENCE
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.setting import Setting, joint_lines
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.published.compare import CLOSE, EXACT, NO, Measured, compare
from attention_atlas.published.pages import claim_verdict, write_claims, write_comparison
from attention_atlas.published.values import load_digitised, load_published
from attention_atlas.studies.kovaleva2019.names import (
    BLOCK,
    DIAGONAL,
    HETEROGENEOUS,
    NETWORK,
    RANDOM,
    STATES,
    TASK_TITLES,
    TUNED,
    UNTRAINED,
    VERTICAL,
    table1_key,
)

MODEL = "bert-base-uncased"
_TASK_KEYS = {"mrpc": "mrpc", "stsb": "sts-b", "sst2": "sst-2", "qqp": "qqp", "rte": "rte", "qnli": "qnli", "mnli": "mnli"}
_FEATURE_KEYS = {"cls": "cls_tok", "sep": "sep_tok"}
FRAMES = "frames"
_TWO_SETS = (
    "the paper's Table 1 and its Figures 8 and 9 cannot be of the same models (QNLI 84.4 there, 91.4 here): compare with both"
)
# Published value -> what is wrong with it.
FAULTS = {
    "k_41_het_min": "the text's 'heterogeneous' is heterogeneous and block together in the paper's own Figure 2",
    "k_41_het_max": "the text's 'heterogeneous' is heterogeneous and block together in the paper's own Figure 2",
    "k_46_layer_drop": "true of layer 1 alone: in Figure 9 layer 10 costs QNLI 8.6 and MNLI 3.2 points",
    "k_t1_qqp_acc_pretrained_no_finetuning": "no share of the whole dev set (63.2 % negative): probably a draw of "
    "1,000 examples",
    "k_t1_mrpc_f1_random_normal_init_finetuned": "2p / (1 + p) of a constant answer: nothing was learned",
    "k_t1_qqp_f1_random_normal_init_finetuned": "a constant answer: nothing was learned",
}


# Item of the published list -> why no run has a row for what is missing of it.
_NOT_HERE = {
    "run_classifier.py": "length and seeds are those of the corpora and of the family in the configuration",
    "notebook cells 33-51": "attention between subjects and verbs is not measured, or this run does not look at QQP",
    "notebook cell 59": "a count of the annotated lexical units of FrameNet 1.7",
    "Sec 5": "two heads of the paper's models; figure8.tsv has the heads of this run",
    "replication on GPT2-small (not K)": "a third party's number on a model that no run looks at; listed for the record",
}


@dataclass(frozen=True)
class Tables:
    """Files that the comparison reads; those of frames are None in a run without such a corpus.

    Attributes:
        table1, figure2, figure5, figure6, figure7, figure8, figure9, features, disabling, patterns: of the study.
        figure3: of the frames.
    """

    table1: str | Path
    figure2: str | Path
    figure5: str | Path
    figure6: str | Path
    figure7: str | Path
    figure8: str | Path
    figure9: str | Path
    features: str | Path
    disabling: str | Path
    patterns: str | Path
    figure3: str | Path | None = None


def comparison(
    tables: Tables,
    settings: Mapping[str, Setting],
    recipe: Mapping[str, Any],
    out: str | Path,
    html_out: str | Path,
    digitised_out: str | Path,
    digitised_html: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv, digitised.tsv and claims.tsv with their pages.

    Args:
        tables: the run's tables.
        settings: task (and frames) -> what was looked at.
        recipe: of the fine-tuning (epochs, batch, learning_rate, warmup), records measured, length of padding, sentences.
        out, html_out: every published value beside ours.
        digitised_out, digitised_html: figure, task, heads, rho, mean_difference, largest_difference, comparable, why: our heads
            against those that were read off the paper's figures.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    published = load_published("kovaleva2019")
    found = dict(_measured(tables, settings, recipe))
    layers = int(read_table(tables.figure9, ["layer"])["layer"].max())
    for name, entry in published.items():
        if name not in found:
            found[name] = Measured(None, NO, _absent(name, entry["item"], layers, settings))
    flagged = {name: _with_fault(name, own) for name, own in found.items()}
    frame = compare(published, flagged)
    lines = joint_lines(settings.values())
    note = (
        "A number is compared only with the same model fine-tuned on the same data; most are read off figures. Known "
        "faults of the paper are named in the column why."
    )
    write_comparison(frame, out, html_out, "Kovaleva et al. 2019: published values and this run", lines, note)
    heads = pd.DataFrame(list(_by_head(tables, settings)))
    write_table(heads, digitised_out)
    notes = [
        *lines,
        "Our heads against those read off the paper's figures: Spearman's rank correlation over heads, mean and "
        "largest absolute difference. Only where the model has the paper's shape and the task the paper's data.",
    ]
    write_html_table(heads, digitised_html, "Kovaleva et al. 2019: heads against digitised figures", notes, {"rho": "Rho"})
    notes = [*lines, "Claims of the paper on order and size, put to this run's models."]
    write_claims(_claims(tables), claims_out, claims_html, "Kovaleva et al. 2019: claims and this run", notes)


def _absent(name: str, item: str, layers: int, settings: Mapping[str, Setting]) -> str:
    """Why a run has no value beside a published one."""
    layer = re.search(r"_L(\d+)(H\d+)?$", name)
    task = next((task for task, key in _TASK_KEYS.items() if f"_{key}_" in name or name.endswith(f"size_{key}")), None)
    if item == "Fig 3" or item == "Sec 4.2":
        return "this run names no corpus of frames" if FRAMES not in settings else "one example, or a choice by eye"
    if item in _NOT_HERE:
        return _NOT_HERE[item]
    if "t1_size" in name:
        return "a rounded size of the training set; dropped.tsv has this run's"
    if task is not None and task not in settings:
        return f"this run does not look at {TASK_TITLES[task]}"
    if layer is not None and int(layer[1]) > layers:
        return f"this run's model has {layers} layers"
    return "the examples of this run have no such feature, or no tags"


def _with_fault(name: str, own: Measured) -> Measured:
    return replace(own, why=f"{own.why}. {FAULTS[name]}") if name in FAULTS else own


def same(setting: Setting, task: str) -> tuple[str, str]:
    """How numbers of a task, or of the frames, can be compared, and why."""
    if setting.model_reference != MODEL:
        return NO, "another model than the paper's"
    if setting.corpus_reference != ("framenet-473" if task == FRAMES else f"{task}-dev"):
        return NO, "other data than the paper's"
    if task == FRAMES:
        return CLOSE, "same model and sentences"
    return CLOSE, "same model and data, fine-tuned anew: the paper's checkpoints were never released"


def _measured(tables: Tables, settings: Mapping[str, Setting], recipe: Mapping[str, Any]) -> Iterator[tuple[str, Measured]]:
    yield from _setup(recipe)
    yield from _table1(tables, settings)
    yield from _patterns(tables, settings)
    if tables.figure3 is not None:
        yield from _frames(tables.figure3, settings[FRAMES])
    yield from _layer_means(tables.figure5, "crop", {"padded": "f5"}, settings)
    yield from _layer_means(tables.figure6, "feature", {"sep": "f6_sep", "cls": "f6_cls"}, settings)
    figure7 = read_table(tables.figure7, ["task", "feature", "head", "value", "n"])
    for (task, feature), own in figure7.groupby(["task", "feature"]):
        comparable, why = same(settings[str(task)], str(task))
        name = _FEATURE_KEYS.get(str(feature), str(feature))
        yield (
            f"k_f7_{_TASK_KEYS[str(task)]}_{name}",
            Measured(float(own["value"].mean()), comparable, why, n=int(own["n"].iloc[0])),
        )
    yield from _disabling(tables, settings)
    yield from _notebook(tables.features, settings)


def _notebook(path: str | Path, settings: Mapping[str, Setting]) -> Iterator[tuple[str, Measured]]:
    """The notebook's maps of QQP: largest value and mean over heads; all but negation count examples without the "
    "feature as 0."""
    table = read_table(path, ["task", "model", "mode", "feature", "value", "value_zero", "n"])
    own = table[(table["task"] == "qqp") & (table["mode"] == "as_published")]
    for (model, feature), heads in own.groupby(["model", "feature"]):
        values = heads["value" if feature == "neg" else "value_zero"]
        if values.notna().all():
            comparable, why = same(settings["qqp"], "qqp")
            found = {"max": round(float(values.max()), 4), "mean": round(float(values.mean()), 4)}
            key = f"k_nb_{feature}_{'finetuned' if model == 'tuned' else 'base'}"
            yield key, Measured(found, comparable, why, n=int(heads["n"].iloc[0]))


def _setup(recipe: Mapping[str, Any]) -> Iterator[tuple[str, Measured]]:
    why = "a choice of this run"
    for name, key in (("batch", "batch"), ("epochs", "epochs"), ("lr", "learning_rate"), ("warmup", "warmup")):
        yield f"k_setup_{name}", Measured(recipe[key], EXACT, why)
    yield "k_setup_nb_maxlen", Measured(recipe["padded_length"], EXACT, why)
    yield "k_setup_nb_cap", Measured(recipe["measured"], EXACT, why)
    yield "k_41_cap", Measured(recipe["measured"], EXACT, why)
    yield "k_42_maxsent", Measured(LONGEST_SENTENCE, EXACT, "as in the paper, where the source is FrameNet")
    yield "k_42_maxfe", Measured(LONGEST_ELEMENT, EXACT, "as in the paper, where the source is FrameNet")
    if recipe["sentences"]:
        yield "k_42_n", Measured(recipe["sentences"], NO, "records of the corpus of frames in this run")


def _table1(tables: Tables, settings: Mapping[str, Setting]) -> Iterator[tuple[str, Measured]]:
    table = read_table(tables.table1, ["task", "metric", "state", "value", "ci_low", "ci_high", "seeds", "n"])
    for _, row in table[table["state"].isin(STATES)].iterrows():
        comparable, why = same(settings[row["task"]], row["task"])
        reason = f"{why}. Mean over {int(row['seeds'])} seeds. {_TWO_SETS}"
        value = Measured(float(row["value"]), comparable, reason, row["ci_low"], row["ci_high"], int(row["n"]))
        yield table1_key(row["task"], row["metric"], row["state"]), value
    own = table[table["metric"] != "f1"].pivot(index="task", columns="state", values="value")
    if TUNED in own and UNTRAINED in own:
        whole = len(own) == len(TASK_TITLES)
        why = "mean over the tasks of this run" if whole else f"mean over {len(own)} of seven tasks"
        yield "k_t1_mean_gain", Measured(float((own[TUNED] - own[UNTRAINED]).mean()), NO, why, n=len(own))


def _patterns(tables: Tables, settings: Mapping[str, Setting]) -> Iterator[tuple[str, Measured]]:
    patterns = read_table(tables.patterns, ["annotator", "class", "n", "f1", "ci_low", "ci_high"])
    network = patterns[patterns["annotator"] == NETWORK].set_index("class")
    macro = network.loc["macro"]
    why = "labels of this project on maps of MiniLM: the paper's were never released"
    yield "k_41_annotated", Measured(int(macro["n"]), NO, why)
    yield "k_41_classes", Measured(len(network.index.difference(["macro", "all"])), EXACT, "as in the paper")
    yield "k_41_layers", Measured(8, EXACT, "as in the paper")
    yield "k_41_vertical", Measured(100 * float(network.loc[VERTICAL, "n"] / macro["n"]), NO, why)
    reason = f"{why}. Macro F1 by cross-validation over texts"
    yield "k_41_f1", Measured(float(macro["f1"]), NO, reason, macro["ci_low"], macro["ci_high"], int(macro["n"]))
    table = read_table(tables.figure2, ["task", "annotator", "class", "share", "ci_low", "ci_high", "n"])
    table = table[table["annotator"] == NETWORK]
    for _, row in table.iterrows():
        comparable, why = same(settings[row["task"]], row["task"])
        ends = (100 * row["ci_low"], 100 * row["ci_high"])
        reason = f"{why}. Classes by our network"
        yield (
            f"k_f2_{_TASK_KEYS[row['task']]}_{row['class']}",
            Measured(100 * row["share"], comparable, reason, *ends, int(row["n"])),
        )
    both = table[table["class"].isin([HETEROGENEOUS, BLOCK])].groupby("task")["share"].sum()
    for key, task in (("k_41_het_min", "mrpc"), ("k_41_het_max", "qqp")):
        if task in both:
            comparable, why = same(settings[task], task)
            yield key, Measured(100 * float(both[task]), comparable, f"{why}. Heterogeneous and block, {TASK_TITLES[task]}")


def _frames(path: str | Path, setting: Setting) -> Iterator[tuple[str, Measured]]:
    table = read_table(path, ["layer", "head", "value", "ci_low", "ci_high", "n"])
    comparable, why = same(setting, FRAMES)
    by_head = {(row.layer, row.head): row for row in table.itertuples()}
    names = {"k_42_a": (1, 2), "k_42_b": (7, 6)}
    names |= {
        key: (int(match[1]), int(match[2]))
        for key in load_published("kovaleva2019")
        if (match := re.fullmatch(r"k_f3_L(\d+)H(\d+)", key))
    }
    for key, place in names.items():
        row = by_head.get(place)
        if row is None:
            yield key, Measured(None, NO, "this run's model has no such head")
        else:
            yield key, Measured(float(row.value), comparable, why, row.ci_low, row.ci_high, int(row.n))


def _layer_means(
    path: str | Path, column: str, kinds: Mapping[str, str], settings: Mapping[str, Setting]
) -> Iterator[tuple[str, Measured]]:
    table = read_table(path, ["task", column, "layer", "head", "value", "n"])
    for (task, kind, layer), own in table.groupby(["task", column, "layer"]):
        if kind in kinds:
            comparable, why = same(settings[str(task)], str(task))
            key = f"k_{kinds[str(kind)]}_{_TASK_KEYS[str(task)]}_L{layer}"
            yield key, Measured(float(own["value"].mean()), comparable, why, n=int(own["n"].iloc[0]))


def _disabling(tables: Tables, settings: Mapping[str, Setting]) -> Iterator[tuple[str, Measured]]:
    columns = ["task", "action", "unit", "baseline", "best_delta", "worst_delta", "mean_delta", "above", "n"]
    summary = read_table(tables.disabling, columns)
    uniform = summary[summary["action"] == "uniform"]
    for _, row in uniform.iterrows():
        comparable, why = same(settings[row["task"]], row["task"])
        task, base, size = _TASK_KEYS[row["task"]], row["baseline"], int(row["n"])
        if row["unit"] == "layers":
            yield f"k_f9_{task}_base", Measured(base / 100, comparable, f"{why}. {_TWO_SETS}", n=size)
            continue
        values = {"max": (base + row["best_delta"]) / 100, "min": (base + row["worst_delta"]) / 100, "base": base / 100}
        values |= {"meandelta": row["mean_delta"], "frac": row["above"]}
        for name, value in values.items():
            yield f"k_f8_{task}_{name}", Measured(float(value), comparable, f"{why}. {_TWO_SETS}", n=size)
    layers = read_table(tables.figure9, ["task", "action", "layer", "score", "ci_low", "n"])
    for _, row in layers[layers["action"] == "uniform"].iterrows():
        comparable, why = same(settings[row["task"]], row["task"])
        yield (
            f"k_f9_{_TASK_KEYS[row['task']]}_L{row['layer']}",
            Measured(float(row["score"] / 100), comparable, why, n=int(row["n"])),
        )
    gains = uniform[uniform["unit"] == "heads"].set_index("task")["best_delta"]
    reason = "largest gains over the tasks of this run; a maximum over many heads, chosen on the examples it is measured on"
    yield "k_46_min", Measured(float(gains.min()), NO, reason, n=len(gains))
    yield "k_46_max", Measured(float(gains.max()), NO, reason, n=len(gains))
    means = uniform[uniform["unit"] == "heads"].set_index("task")["mean_delta"]
    helped = ", ".join(TASK_TITLES[task] for task in means.index if means[task] > 0)
    yield "k_46_random", Measured(helped or "none", NO, "tasks of this run in which the mean over heads is a gain")
    by_layer = uniform[uniform["unit"] == "layers"].set_index("task")["best_delta"]
    yield "k_abs_max", Measured(float(max(gains.max(), by_layer.max())), NO, reason, n=len(gains))
    first = layers[(layers["action"] == "uniform") & (layers["layer"] == 1)].set_index("task")["score"]
    bases = uniform[uniform["unit"] == "layers"].set_index("task")["baseline"]
    if "rte" in first:
        comparable, why = same(settings["rte"], "rte")
        yield "k_46_layer_rte", Measured(float(first["rte"] - bases["rte"]), comparable, f"{why}. Layer 1 disabled")
    tasks = [task for task in ("qnli", "mnli") if task in first]
    if tasks:
        comparable, why = same(settings[tasks[0]], tasks[0])
        lowest = min(float(first[task] - bases[task]) for task in tasks)
        yield "k_46_layer_drop", Measured(lowest, comparable, f"{why}. Layer 1 disabled, the lower of QNLI and MNLI")


def _by_head(tables: Tables, settings: Mapping[str, Setting]) -> Iterator[dict[str, Any]]:
    """Our heads against digitised ones, figure by figure and task by task."""
    figures: dict[str, tuple[str | Path | None, str, Callable[[pd.DataFrame], pd.DataFrame], str]] = {
        "Figure 3": (tables.figure3, "fig3_framenet", lambda t: t.assign(task=FRAMES), "mean_max_weight"),
        "Figure 5": (tables.figure5, "fig5_cosine", lambda t: t[t["crop"] == "padded"], "cosine"),
        "Figure 6, [SEP]": (tables.figure6, "fig6_sep_cls", lambda t: t[t["feature"] == "sep"], "mean_weight"),
        "Figure 6, [CLS]": (tables.figure6, "fig6_sep_cls", lambda t: t[t["feature"] == "cls"], "mean_weight"),
        "Figure 8": (
            tables.figure8,
            "fig8_disable_head",
            lambda t: t[t["action"] == "uniform"].assign(value=t["delta"] / 100),
            "delta_vs_baseline",
        ),
    }
    for figure, (path, name, part, column) in figures.items():
        if path is None:
            continue
        theirs = load_digitised(name)
        if figure.startswith("Figure 6"):
            theirs = theirs[theirs["token"] == figure[-4:-1]]
        ours = part(read_table(path))
        for task, own in ours.groupby("task", sort=False):
            title = TASK_TITLES.get(str(task), str(task))
            printed = theirs if "task" not in theirs else theirs[theirs["task"] == title]
            setting = settings[str(task)]
            row: dict[str, Any] = {"figure": figure, "task": title, "heads": len(own)}
            comparable, why = same(setting, str(task))
            if comparable == NO:
                empty = dict.fromkeys(("rho", "mean_difference", "largest_difference"), np.nan)
                yield row | empty | {"comparable": NO, "why": why}
                continue
            both = own.merge(printed, on=["layer", "head"])
            apart = (both["value"] - both[column]).abs()
            rho = float(spearmanr(both["value"], both[column]).statistic)
            found = {"rho": rho, "mean_difference": float(apart.mean()), "largest_difference": float(apart.max())}
            yield row | found | {"comparable": comparable, "why": why}


def _claims(tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Claims of the text, put to the run's models."""
    figure5 = read_table(tables.figure5, ["task", "crop", "layer", "value"])
    crop = "padded" if (figure5["crop"] == "padded").any() else "real"
    means = figure5[figure5["crop"] == crop].groupby(["task", "layer"])["value"].mean().unstack()
    last = means.shape[1]
    lowest = {task: int(row.idxmin()) for task, row in means.iterrows()}
    changed = [task for task, layer in lowest.items() if layer > last - 2]
    yield (
        "Fine-tuning changes the last two layers most (in all tasks but QQP)",
        "layer of the smallest mean cosine: " + ", ".join(f"{TASK_TITLES[str(t)]} {layer}" for t, layer in lowest.items()),
        claim_verdict(set(lowest) - {"qqp"} <= set(changed)),
    )
    summary = read_table(tables.disabling, ["task", "action", "unit", "best_delta", "heldout_delta", "p_max"])
    heads = summary[(summary["action"] == "uniform") & (summary["unit"] == "heads")].set_index("task")
    yield (
        "In every task some head can be disabled with a gain",
        "largest gain (held out): "
        + ", ".join(f"{TASK_TITLES[t]} {row['best_delta']:+.1f} ({row['heldout_delta']:+.1f})" for t, row in heads.iterrows()),
        claim_verdict(bool((heads["best_delta"] > 0).all())),
    )
    yield (
        "These gains are more than the largest of as many chance differences (p < 0.05; not tested in the paper)",
        "p of the maximum: " + ", ".join(f"{TASK_TITLES[t]} {row['p_max']:.2f}" for t, row in heads.iterrows()),
        claim_verdict(bool((heads["p_max"] < 0.05).all())),
    )
    table1 = read_table(tables.table1, ["task", "metric", "state", "value", "ci_low"])
    own = table1[table1["metric"] != "f1"].pivot(index="task", columns="state", values="value")
    both = own.reindex(columns=[TUNED, RANDOM]).dropna()
    if len(both):
        part = f" ({len(both)} of {len(own)} tasks trained from random weights)" if len(both) < len(own) else ""
        yield (
            f"Fine-tuning from pre-trained weights beats random weights in every task{part}",
            ", ".join(f"{TASK_TITLES[str(t)]} {row[TUNED]:.1f} / {row[RANDOM]:.1f}" for t, row in both.iterrows()),
            claim_verdict(bool((both[TUNED] > both[RANDOM]).all())),
        )
    figure2 = read_table(tables.figure2, ["task", "annotator", "class", "share"])
    network = figure2[figure2["annotator"] == NETWORK].groupby("class")["share"].mean()
    yield (
        "Vertical and heterogeneous maps are the two most frequent classes, diagonal ones rare",
        ", ".join(f"{name} {share:.0%}" for name, share in network.items()),
        claim_verdict(set(network.nlargest(2).index) == {VERTICAL, HETEROGENEOUS} and network[DIAGONAL] < 0.1),
    )
    if tables.figure3 is not None:
        frames = read_table(tables.figure3, ["layer", "head", "value", "control", "margin", "margin_ci_low"])
        best = frames.nlargest(2, "value")
        yield (
            "The heads with the most attention on frame links exceed what the distance of the pieces explains",
            ", ".join(f"{r.layer}-{r.head} {r.value:.2f} (control {r.control:.2f})" for r in best.itertuples()),
            claim_verdict(bool((best["margin_ci_low"] > 0).all())),
        )
