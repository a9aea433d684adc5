"""Scores of the laptop run once more with other people's scorers, from the answers that its jobs keep.

Nothing here is computed by this library: labels and references come from the corpora's own files, scores from torchmetrics,
sacrebleu's command line, seqeval, scikit-learn and scipy. Tables have six digits; no larger difference is expected.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SIX_DIGITS = {"rel": 6e-6, "abs": 1e-6}
SINGLE_PRECISION = {"rel": 5e-5, "abs": 1e-6}
"""torchmetrics adds the scores of a few hundred questions in single precision."""
TAGS = {"B": "B-KEY", "I": "I-KEY", "O": "O"}
NO_HEAD_REMOVED = "order == 'one' and count == 0"


def tsv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", keep_default_na=False, na_values=[""])


def ids_of_records(run: Path, model: str, corpus: str) -> dict[int, str]:
    """Record of the run -> id in the corpus's file, which is the line for text files."""
    shards = sorted((run / "examples" / model / corpus).glob("*.parquet"))
    frames = [pd.read_parquet(path, columns=["record", "id"]) for path in shards]
    return dict(pd.concat(frames).drop_duplicates("record").itertuples(index=False, name=None))


# Guan et al.: exact match and F1 of answers


@pytest.fixture(scope="module")
def answers_of_rows(guan2020, mirror):
    """(row, sentences) -> answers and references of all questions, for the rows of Tables 2 and 3."""
    articles = json.loads((mirror / "xquad_en/xquad.en.json").read_text(encoding="utf-8"))["data"]
    references = {qa["id"]: qa["answers"] for a in articles for p in a["paragraphs"] for qa in p["qas"]}
    answers = pd.read_parquet(guan2020 / "answers.parquet")
    answers = answers[(answers["drawn_from"] == "type") & (answers["draw"] == 0)]
    return {
        key: [(row.question, row.answer, references[row.question]) for row in rows.itertuples()]
        for key, rows in answers.groupby(["row", "sentences"])
    }


def rows_of_tables(guan2020: Path) -> pd.DataFrame:
    tables = [tsv(guan2020 / f"{name}.tsv") for name in ("table2", "table3")]
    return pd.concat(tables).drop_duplicates(["row", "sentences"]).fillna({"sentences": ""})


def test_torchmetrics_gives_every_row_of_tables_2_and_3(guan2020, answers_of_rows):
    text = pytest.importorskip("torchmetrics.text")
    table = rows_of_tables(guan2020)
    assert set(table["row"]) == set(range(1, 20))
    for row in table.itertuples():
        metric = text.SQuAD()
        scored = answers_of_rows[row.row, row.sentences]
        metric.update(
            [{"id": question, "prediction_text": answer} for question, answer, _ in scored],
            [
                {
                    "id": question,
                    "answers": {name: [r[name] for r in references] for name in ("text", "answer_start")},
                }
                for question, _, references in scored
            ],
        )
        scores = {name: float(value) for name, value in metric.compute().items()}
        assert row.n == len(scored)
        assert scores["exact_match"] == pytest.approx(row.em, **SINGLE_PRECISION), row
        assert scores["f1"] == pytest.approx(row.f1, **SINGLE_PRECISION), row


def normalised(text: str) -> list[str]:
    """Words after the rules of SQuAD (Rajpurkar et al. 2016): lower case, no punctuation, no articles."""
    plain = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def test_a_plain_count_of_words_gives_the_baseline(guan2020, answers_of_rows):
    exact, f1 = [], []
    for _, answer, references in answers_of_rows[1, ""]:
        words, pairs = normalised(answer), [normalised(reference["text"]) for reference in references]
        exact.append(max(words == gold for gold in pairs))
        overlaps = [(sum((Counter(words) & Counter(gold)).values()), len(words) + len(gold)) for gold in pairs]
        f1.append(max(2 * shared / total if total else 1.0 for shared, total in overlaps))
    row = rows_of_tables(guan2020).set_index("row").loc[1]
    print(f"XQuAD, unchanged model: {100 * np.mean(exact):.2f} EM, {100 * np.mean(f1):.2f} F1, n = {len(f1)}")
    assert 100 * np.mean(exact) == pytest.approx(row["em"], **SIX_DIGITS)
    assert 100 * np.mean(f1) == pytest.approx(row["f1"], **SIX_DIGITS)


# Štefánik: F1 of taggers


def removed_heads(stefanik2021: Path, seed: int) -> pd.DataFrame:
    """Tags with heads removed, one row per document and set of removed heads."""
    (path,) = (stefanik2021 / "removals").glob(f"*-{seed}.parquet")
    return pd.read_parquet(path)


def token_f1(rows: pd.DataFrame) -> float:
    from sklearn.metrics import f1_score

    expected, answered = (np.array(list("".join(rows[name]))) != "O" for name in ("expected", "answer"))
    return 100 * float(f1_score(expected, answered, zero_division=0))


def phrase_f1(rows: pd.DataFrame) -> float:
    from seqeval.metrics import f1_score

    expected, answered = ([[TAGS[tag] for tag in tags] for tags in rows[name]] for name in ("expected", "answer"))
    return 100 * float(f1_score(expected, answered, zero_division=0))


SCORERS = {"token_f1": token_f1, "phrase_f1": phrase_f1}


def test_scikit_learn_and_seqeval_give_the_f1_of_whole_taggers(stefanik2021):
    table = tsv(stefanik2021 / "fine_tuning.tsv")
    table = table[table["model"] == "whole"].set_index(["seed", "split", "metric"])["value"]
    seeds = [seed for seed in table.index.unique("seed") if seed != "mean"]
    assert len(seeds) == 3
    for split in table.index.unique("split"):
        for metric, scorer in SCORERS.items():
            answers = [removed_heads(stefanik2021, seed).query(f"{NO_HEAD_REMOVED} and split == '{split}'") for seed in seeds]
            values = [scorer(rows) for rows in answers]
            assert values == pytest.approx([table[seed, split, metric] for seed in seeds], **SIX_DIGITS)
            assert np.mean(values) == pytest.approx(table["mean", split, metric], **SIX_DIGITS)
            print(f"{split}, {metric}: {np.round(values, 2)}")


def test_scikit_learn_gives_the_token_f1_without_each_head(stefanik2021):
    table = tsv(stefanik2021 / "ablation.tsv").query("metric == 'token_f1' and seed != 'mean'")
    for seed, rows in table.groupby("seed"):
        answers = removed_heads(stefanik2021, seed).query("order == 'one'").groupby(["split", "layer", "head"])
        scores = {key: token_f1(group) for key, group in answers}
        for row in rows.itertuples():
            assert scores[row.split, row.layer, row.head] == pytest.approx(row.value, **SIX_DIGITS)
            assert scores[row.split, 0, 0] == pytest.approx(row.baseline, **SIX_DIGITS)


def test_both_give_the_f1_of_removing_heads_one_after_the_other(stefanik2021):
    table = tsv(stefanik2021 / "cumulative_ablation.tsv").query("order == 'worst_to_best'")
    for seed, rows in table.groupby("seed"):
        answers = removed_heads(stefanik2021, seed).query("order == 'worst_to_best'").groupby(["split", "count"])
        for row in rows.itertuples():
            group = answers.get_group((row.split, row.heads_removed))
            assert len(group) == row.documents
            assert SCORERS[row.metric](group) == pytest.approx(row.value, **SIX_DIGITS)


# Kovaleva et al.: correlation on STS-B, accuracy on QNLI


def glue_column(path: Path, column: str) -> dict[str, str]:
    """Line of a GLUE file, from 1 -> its cell in a column; quotation marks are text."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {str(number): row[column] for number, row in enumerate(rows, start=1)}


def predictions_with_labels(study: Path, task: str, corpus: str, labels: dict[str, str]) -> pd.DataFrame:
    ids = ids_of_records(study.parent, "minilm", corpus)
    frame = pd.read_parquet(study / "predictions" / f"{task}.parquet")
    return frame.assign(gold=[labels[ids[record]] for record in frame["record"]])


def compare_states(table: pd.DataFrame, task: str, scores: pd.Series) -> None:
    """Scores by state and seed against the means, standard deviations, minima and maxima of Table 1."""
    for state, values in scores.groupby("state"):
        row = table[(table["task"] == task) & (table["state"] == state)].iloc[0]
        print(f"{task}, {state}: {values.mean():.2f} over {len(values)} seeds")
        assert row["seeds"] == len(values)
        assert [values.mean(), values.min(), values.max()] == pytest.approx([*row[["value", "min", "max"]]], **SIX_DIGITS)
        assert values.std() == pytest.approx(row["sd"], **SIX_DIGITS, nan_ok=True)


def test_scipy_gives_the_correlations_on_sts_b(kovaleva2019, mirror):
    from scipy.stats import pearsonr, spearmanr

    labels = glue_column(mirror / "glue/STS-B/dev.tsv", "score")
    frame = predictions_with_labels(kovaleva2019, "stsb", "stsb-dev-whole", labels)
    scores = {}
    for key, rows in frame.groupby(["state", "seed"]):
        pair = rows["prediction"].astype(float), rows["gold"].astype(float)
        scores[key] = 100 * (pearsonr(*pair).statistic + spearmanr(*pair).statistic) / 2
    compare_states(tsv(kovaleva2019 / "table1.tsv"), "stsb", pd.Series(scores).rename_axis(["state", "seed"]))
    assert frame["record"].nunique() == 1500


def test_scikit_learn_gives_the_accuracies_on_qnli(kovaleva2019, mirror):
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import accuracy_score

    labels = glue_column(mirror / "glue/QNLI/dev.tsv", "label")
    frame = predictions_with_labels(kovaleva2019, "qnli", "qnli-second-half", labels)
    scores = {key: 100 * accuracy_score(rows["gold"], rows["prediction"]) for key, rows in frame.groupby(["state", "seed"])}
    table = tsv(kovaleva2019 / "table1.tsv")
    compare_states(table, "qnli", pd.Series(scores).rename_axis(["state", "seed"]))
    gold = frame.drop_duplicates("record")["gold"]
    nothing = np.zeros((len(gold), 1))
    majority = DummyClassifier(strategy="most_frequent").fit(nothing, gold).score(nothing, gold)
    row = table[(table["task"] == "qnli") & (table["state"] == "majority")].iloc[0]
    assert 100 * majority == pytest.approx(row["value"], **SIX_DIGITS)


# Michel et al.: BLEU and accuracy


def sacrebleu_command(folder: Path, translations: Sequence[str], references: Sequence[str]) -> float:
    """BLEU by sacrebleu's command line with its default settings, to four digits."""
    for name, lines in (("translations", translations), ("references", references)):
        assert not any("\n" in line for line in lines)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", "translations", "-m", "bleu", "-b", "-w", "4"]
    return float(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def translations(michel2019, mirror):
    """Answers of the translation model with heads masked, with the references of Multi30k's own file."""
    (model,) = {path.parent.parent.name for path in (michel2019.parent / "examples").glob("*/multi30k-2016/0.parquet")}
    ids = ids_of_records(michel2019.parent, model, "multi30k-2016")
    with gzip.open(mirror / "multi30k/test_2016_flickr.fr.gz", "rt", encoding="utf-8") as file:
        lines = dict(enumerate(file.read().splitlines(), start=1))
    frame = pd.read_parquet(michel2019 / "masked/translation.parquet")
    return frame.assign(reference=[lines[int(ids[record])] for record in frame["record"]])


def test_the_command_line_of_sacrebleu_gives_the_base_bleu_and_that_of_the_worst_head(michel2019, translations, tmp_path):
    table = tsv(michel2019 / "table1.tsv")
    base = translations[translations["masked"] == "none"]
    assert len(base) == table["n"].iloc[0]
    score = sacrebleu_command(tmp_path, base["answer"], base["reference"])
    print(f"Multi30k test 2016: {score} BLEU, n = {len(base)}")
    assert table["baseline"].tolist() == pytest.approx([score] * len(table), abs=1e-4)
    worst = table.loc[table["delta"].idxmin()]
    place = dict(worst[["kind", "layer", "head"]])
    rows = translations[(translations["masked"] == "one") & (translations[list(place)] == pd.Series(place)).all(axis=1)]
    assert sacrebleu_command(tmp_path, rows["answer"], rows["reference"]) == pytest.approx(worst["score"], abs=1e-4)


def test_sacrebleu_gives_the_bleu_without_each_head(michel2019, translations):
    from sacrebleu import corpus_bleu

    table = tsv(michel2019 / "table1.tsv").set_index(["kind", "layer", "head"])["score"]
    groups = translations[translations["masked"] == "one"].groupby(["kind", "layer", "head"])
    scores = {key: corpus_bleu(list(rows["answer"]), [list(rows["reference"])]).score for key, rows in groups}
    assert len(scores) == len(table)
    assert [scores[key] for key in table.index] == pytest.approx(table.tolist(), **SIX_DIGITS)


def test_scikit_learn_gives_the_accuracy_without_each_head(michel2019, mirror):
    from sklearn.metrics import accuracy_score

    labels = glue_column(mirror / "glue/QNLI/dev.tsv", "label")
    ids = ids_of_records(michel2019.parent, "minilm", "qnli-from-3501")
    frame = pd.read_parquet(michel2019 / "masked/classification.parquet")
    frame = frame[frame["masked"].isin(["none", "one"])]
    frame = frame.assign(gold=[labels[ids[record]] for record in frame["record"]])
    scores = {
        key: 100 * accuracy_score(rows["gold"], rows["answer"])
        for key, rows in frame.groupby(["masked", "kind", "layer", "head"])
    }
    table = tsv(michel2019 / "figure1.tsv").query("experiment == 'classification'")
    assert len(table) == 72
    for row in table.itertuples():
        assert scores["one", row.kind, row.layer, row.head] == pytest.approx(row.score, **SIX_DIGITS)
        assert scores["none", "", 0, 0] == pytest.approx(row.baseline, **SIX_DIGITS)


# Tenney et al.: micro-F1 of probes


@pytest.fixture(scope="module")
def probed(tenney2019):
    """Traced targets of the development sets, one row per target and seed; and the counts of all sentences by probe."""
    folder = tenney2019 / "probes/minilm"
    traces = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*/*.traces.parquet"))])
    counts = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.counts.parquet"))])
    counts = counts[(counts["condition"] == "early_stopping") & (counts["layer0"] == "embeddings")]
    return traces[traces["source"] == "development"], counts


def is_scored(task: str, label: str) -> bool:
    """Labels that count: pairs of one chain; arguments and modifiers that are no continuations (published code)."""
    return {"coreference": label == "1", "roles": label.startswith("ARG")}.get(task, True)


def test_scikit_learn_gives_the_micro_f1_of_the_sentences_whose_probabilities_are_kept(probed):
    from sklearn.metrics import f1_score

    traces, counts = probed
    assert {"pos", "roles", "entities", "coreference"} <= set(traces["task"])
    for (task, seed), rows in traces.groupby(["task", "seed"]):
        labels = list(rows["labels"].iloc[0])
        scored = np.array([is_scored(task, label) for label in labels])
        gold = np.stack(rows["gold"])[:, scored]
        probabilities = np.stack(rows["probability"]).reshape(len(rows), -1, len(labels))[:, :, scored]
        sums = counts[(counts["task"] == task) & (counts["seed"] == seed) & counts["record"].isin(set(rows["record"]))]
        sums = sums.groupby("top")[["true", "false", "missed"]].sum()
        assert len(sums) == probabilities.shape[1] == 7
        # A target may have none or several labels: those of a probability of one half or more.
        answers = probabilities >= 0.5
        f1 = [f1_score(gold.ravel(), answers[:, top].ravel(), zero_division=0) for top in sums.index]
        assert f1 == pytest.approx((2 * sums["true"] / (2 * sums["true"] + sums["false"] + sums["missed"])).tolist())
        print(f"{task}, seed {seed}, {rows['record'].nunique()} sentences: {np.round(np.multiply(100, f1), 1)}")


def test_the_f1_of_tables_is_that_of_these_counts(tenney2019, probed):
    sums = probed[1].groupby(["task", "top", "seed"])[["true", "false", "missed"]].sum()
    table = tsv(tenney2019 / "summary/probe_scores.tsv").query("layer0 == 'embeddings' and condition == 'early_stopping'")
    f1 = table.set_index(["task", "layer", "seed"])["f1"].rename_axis(["task", "top", "seed"])
    assert len(f1) == len(sums)
    expected = 200 * sums["true"] / (2 * sums["true"] + sums["false"] + sums["missed"])
    assert f1.reindex(sums.index).tolist() == pytest.approx(expected.tolist(), **SIX_DIGITS)


def test_traced_tags_are_those_of_the_treebank(probed, mirror):
    conllu = pytest.importorskip("conllu")
    text = (mirror / "ud_english_ewt/en_ewt-ud-dev.conllu").read_text(encoding="utf-8")
    treebank = {s.metadata["sent_id"]: s.filter(id=lambda number: isinstance(number, int)) for s in conllu.parse(text)}
    tags = probed[0][probed[0]["task"] == "pos"]
    assert len(tags) > 1000
    for row in tags.drop_duplicates(["record", "target"]).itertuples():
        word = treebank[row.id][row.target]
        assert word["form"] == row.span1
        known = [label for label, gold in zip(row.labels, row.gold, strict=True) if gold]
        # A tag that the training sentences do not have has no label.
        assert known in ([word["xpos"]], [])
