"""Scores of the laptop run once more with other people's scorers, from the answers that its jobs keep.

Nothing here is computed by this library: labels and references come from the corpora's own files, scores from torchmetrics,
sacrebleu, seqeval, scikit-learn and scipy. Tables have six digits; no larger difference is expected.
"""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SIX_DIGITS = {"rel": 6e-6, "abs": 1e-6}
SINGLE_PRECISION = {"rel": 5e-5, "abs": 1e-6}
"""torchmetrics adds the scores of a few hundred questions in single precision."""
TAGS = {"B": "B-KEY", "I": "I-KEY", "O": "O"}


def tsv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", keep_default_na=False, na_values=[""])


def ids_of_records(run: Path, model: str, corpus: str) -> dict[int, str]:
    """Record of the run -> id in the corpus's file, which is the line for text files."""
    shards = sorted((run / "examples" / model / corpus).glob("*.parquet"))
    frames = [pd.read_parquet(path, columns=["record", "id"]) for path in shards]
    return dict(pd.concat(frames).drop_duplicates("record").itertuples(index=False, name=None))


# Guan et al.: exact match and F1 of answers


def test_torchmetrics_gives_every_row_of_tables_2_and_3(guan2020, mirror):
    text = pytest.importorskip("torchmetrics.text")
    articles = json.loads((mirror / "xquad_en/xquad.en.json").read_text(encoding="utf-8"))["data"]
    references = {
        qa["id"]: {name: [answer[name] for answer in qa["answers"]] for name in ("text", "answer_start")}
        for article in articles
        for passage in article["paragraphs"]
        for qa in passage["qas"]
    }
    answers = pd.read_parquet(guan2020 / "answers.parquet").query("drawn_from == 'type' and draw == 0")
    answers_of_row = dict(iter(answers.groupby(["row", "sentences"])))
    table = pd.concat([tsv(guan2020 / f"{name}.tsv") for name in ("table2", "table3")]).fillna({"sentences": ""})
    assert set(table["row"]) == set(range(1, 20))
    for row in table.drop_duplicates(["row", "sentences"]).itertuples():
        metric, scored = text.SQuAD(), answers_of_row[row.row, row.sentences]
        metric.update(
            [{"id": answer.question, "prediction_text": answer.answer} for answer in scored.itertuples()],
            [{"id": question, "answers": references[question]} for question in scored["question"]],
        )
        scores = {name: float(value) for name, value in metric.compute().items()}
        assert row.n == len(scored)
        assert scores["exact_match"] == pytest.approx(row.em, **SINGLE_PRECISION), row
        assert scores["f1"] == pytest.approx(row.f1, **SINGLE_PRECISION), row


# Štefánik: F1 of taggers, whole and with heads removed


def token_f1(rows: pd.DataFrame) -> float:
    from sklearn.metrics import f1_score

    expected, answered = (np.array(list("".join(rows[name]))) != "O" for name in ("expected", "answer"))
    return 100 * float(f1_score(expected, answered, zero_division=0))


def phrase_f1(rows: pd.DataFrame) -> float:
    from seqeval.metrics import f1_score

    expected, answered = ([[TAGS[tag] for tag in tags] for tags in rows[name]] for name in ("expected", "answer"))
    return 100 * float(f1_score(expected, answered, zero_division=0))


SCORERS = {"token_f1": token_f1, "phrase_f1": phrase_f1}


@pytest.fixture(scope="module")
def tags(stefanik2021):
    """Tags of the test documents: rows of a document and a set of removed heads."""
    frames = [pd.read_parquet(path).assign(seed=path.stem[-2:]) for path in (stefanik2021 / "removals").glob("*.parquet")]
    return pd.concat(frames).query("split == 'test'")


@pytest.mark.parametrize("metric", SCORERS)
def test_scikit_learn_and_seqeval_give_the_f1_of_taggers(stefanik2021, tags, metric):
    table = tsv(stefanik2021 / "fine_tuning.tsv").query("model == 'whole' and metric == @metric").set_index("seed")["value"]
    scores = {seed: SCORERS[metric](rows) for seed, rows in tags.query("order == 'one' and count == 0").groupby("seed")}
    assert scores == pytest.approx(table.drop("mean").to_dict(), **SIX_DIGITS)
    removed = tags.query("order == 'one'").groupby(["seed", "layer", "head"])
    for row in tsv(stefanik2021 / "ablation.tsv").query("metric == @metric and seed != 'mean'").itertuples():
        value = SCORERS[metric](removed.get_group((row.seed, row.layer, row.head)))
        assert (value, scores[row.seed]) == pytest.approx((row.value, row.baseline), **SIX_DIGITS)
    removed = tags.query("order == 'worst_to_best'").groupby(["seed", "count"])
    table = tsv(stefanik2021 / "cumulative_ablation.tsv").query("order == 'worst_to_best' and metric == @metric")
    for row in table.itertuples():
        assert SCORERS[metric](removed.get_group((str(row.seed), row.heads_removed))) == pytest.approx(row.value, **SIX_DIGITS)


# Kovaleva et al.: correlation on STS-B, accuracy on QNLI


def glue_column(path: Path, column: str) -> dict[str, str]:
    """Line of a GLUE file, from 1 -> its cell in a column; quotation marks are text."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {str(number): row[column] for number, row in enumerate(rows, start=1)}


def scores_of_models(study: Path, task: str, corpus: str, labels: dict[str, str], scorer: Callable[..., float]) -> pd.DataFrame:
    """State -> mean, minimum, maximum and number of the scores of its models, by the labels of the corpus's own file."""
    ids = ids_of_records(study.parent, "minilm", corpus)
    frame = pd.read_parquet(study / "predictions" / f"{task}.parquet")
    frame = frame.assign(gold=[labels[ids[record]] for record in frame["record"]])
    rows = [(state, 100 * scorer(of_model)) for (state, _), of_model in frame.groupby(["state", "seed"])]
    return pd.DataFrame(rows, columns=["state", "score"]).groupby("state")["score"].agg(["mean", "min", "max", "size"])


def correlation(rows: pd.DataFrame) -> float:
    from scipy.stats import pearsonr, spearmanr

    pair = rows["prediction"].astype(float), rows["gold"].astype(float)
    return (pearsonr(*pair).statistic + spearmanr(*pair).statistic) / 2


def accuracy(rows: pd.DataFrame) -> float:
    from sklearn.metrics import accuracy_score

    return accuracy_score(rows["gold"], rows["prediction"])


@pytest.mark.parametrize(
    ("task", "file", "column", "corpus", "scorer"),
    [("stsb", "STS-B", "score", "stsb-dev-whole", correlation), ("qnli", "QNLI", "label", "qnli-second-half", accuracy)],
)
def test_scipy_and_scikit_learn_give_the_scores_of_table_1(kovaleva2019, mirror, task, file, column, corpus, scorer):
    labels = glue_column(mirror / "glue" / file / "dev.tsv", column)
    table = tsv(kovaleva2019 / "table1.tsv").query("task == @task").set_index("state")
    for state, scores in scores_of_models(kovaleva2019, task, corpus, labels, scorer).iterrows():
        assert table.loc[state, ["value", "min", "max", "seeds"]].tolist() == pytest.approx(scores.tolist(), **SIX_DIGITS), (
            state
        )


# Michel et al.: BLEU and accuracy


def test_sacrebleu_gives_the_bleu_without_each_head(michel2019, mirror):
    from sacrebleu import corpus_bleu

    (model,) = {path.parent.parent.name for path in (michel2019.parent / "examples").glob("*/multi30k-2016-whole/0.parquet")}
    ids = ids_of_records(michel2019.parent, model, "multi30k-2016-whole")
    with gzip.open(mirror / "multi30k/test_2016_flickr.fr.gz", "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    frame = pd.read_parquet(michel2019 / "masked/translation.parquet").query("masked != 'others'")
    frame = frame.assign(reference=[lines[int(ids[record]) - 1] for record in frame["record"]])
    groups = frame.groupby(["kind", "layer", "head"])
    scores = {key: corpus_bleu(list(rows["answer"]), [list(rows["reference"])]).score for key, rows in groups}
    table = tsv(michel2019 / "table1.tsv").set_index(["kind", "layer", "head"])
    assert len(scores) == 1 + len(table)
    assert table["baseline"].to_numpy() == pytest.approx(scores["", 0, 0], **SIX_DIGITS)
    assert [scores[key] for key in table.index] == pytest.approx(table["score"].tolist(), **SIX_DIGITS)


def test_scikit_learn_gives_the_accuracy_without_each_head(michel2019, mirror):
    labels = glue_column(mirror / "glue/QNLI/dev.tsv", "label")
    ids = ids_of_records(michel2019.parent, "minilm", "qnli-from-3501")
    frame = pd.read_parquet(michel2019 / "masked/classification.parquet").query("masked != 'others'")
    frame = frame.assign(gold=[labels[ids[record]] for record in frame["record"]]).rename(columns={"answer": "prediction"})
    scores = {key: 100 * accuracy(rows) for key, rows in frame.groupby(["kind", "layer", "head"])}
    table = tsv(michel2019 / "figure1.tsv").query("experiment == 'classification'")
    assert len(table) == 72
    for row in table.itertuples():
        found = scores[row.kind, row.layer, row.head], scores["", 0, 0]
        assert found == pytest.approx((row.score, row.baseline), **SIX_DIGITS)


# Tenney et al.: micro-F1 of probes


def test_the_f1_of_probes_is_that_of_the_counts_of_sentences(tenney2019):
    counts = pd.concat([pd.read_parquet(path) for path in (tenney2019 / "probes/minilm").glob("*.counts.parquet")])
    chosen = "condition == 'early_stopping' and layer0 == 'embeddings'"
    sums = counts.query(chosen).groupby(["task", "top", "seed"])[["true", "false", "missed"]].sum()
    table = tsv(tenney2019 / "summary/probe_scores.tsv").query(chosen)
    f1 = table.set_index(["task", "layer", "seed"])["f1"].rename_axis(["task", "top", "seed"])
    assert len(f1) == len(sums)
    expected = 200 * sums["true"] / (2 * sums["true"] + sums["false"] + sums["missed"])
    assert f1.reindex(sums.index).tolist() == pytest.approx(expected.tolist(), **SIX_DIGITS)
