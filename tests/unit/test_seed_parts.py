"""Probes whose seeds several jobs share: the tables of one job, byte for byte; means over seeds against a slow way."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from edge_examples import edge_example
from test_probed_states import MODEL, RECIPE, corpus, tiny_bert  # noqa: F401 (a fixture of every test)

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table, write_parquet
from attention_atlas.studies.tenney2019.names import EMBEDDINGS
from attention_atlas.studies.tenney2019.probed_states import probe_model
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedTask
from attention_atlas.studies.tenney2019.scores import CASES, COUNTS, SCORES, TRACES, WEIGHTS
from attention_atlas.studies.tenney2019.seed_parts import JoinedOutputs, join_seeds

TASKS = ("pos", "entities")
SEEDS = (3, 1, 2)
KINDS = {"scores": "tsv", "weights": "tsv", "counts": "parquet", "traces": "parquet"}


def joined(folder, parts):
    """The tables of all parts."""
    paths = {kind: [folder / f"{part}.{kind}.{suffix}" for part in parts] for kind, suffix in KINDS.items()}
    out = JoinedOutputs(folder / "scores.tsv", folder / "weights.tsv", folder / "counts.parquet", folder / "cases.tsv")
    join_seeds(TASKS, **paths, out=out)
    return {name: path.read_bytes() for name, path in vars(out).items()}


def of_both_tasks(record):
    targets = edge_example(record, "entities", False).edges
    return replace(edge_example(record, "pos", False), edges=(*targets[:3], *(replace(t, task="pos") for t in targets[2:])))


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    parts = [
        corpus(folder, name, records, of_both_tasks)
        for name, records in (("train", range(24)), ("dev", range(24, 32)), ("cases", range(40, 43)))
    ]
    return {task: ProbedTask(*parts, RECIPE) for task in TASKS}


def probed(folder, tasks, *groups):
    """The tables of jobs of these seeds."""
    folder.mkdir()
    for part, seeds in enumerate(groups):
        plan = Plan(SEEDS, [EMBEDDINGS], True, True, 2, 4, seeds_of_job=seeds)
        out = Outputs(*(folder / f"{part}.{kind}.{suffix}" for kind, suffix in KINDS.items()))
        probe_model(MODEL, tasks, plan, out, folder / "states")
    return joined(folder, range(len(groups)))


def test_jobs_of_some_seeds_give_the_tables_of_one_job(tmp_path, tasks):
    one = probed(tmp_path / "one", tasks, None)
    assert probed(tmp_path / "by_seed", tasks, *([seed] for seed in SEEDS)) == one
    assert probed(tmp_path / "in_pairs", tasks, SEEDS[:2], SEEDS[2:]) == one
    scores = read_table(tmp_path / "one" / "scores.tsv")
    assert list(dict.fromkeys(zip(scores["task"], scores["seed"], strict=True))) == [
        (task, seed) for task in TASKS for seed in SEEDS
    ]
    # One seed alone has the control of shuffled labels: the first one of all jobs.
    assert set(scores.loc[scores["condition"] == "shuffled_labels", "seed"]) == {SEEDS[0]}
    cases = read_table(tmp_path / "one" / "cases.tsv", CASES)
    assert set(cases["source"]) == {"development", "cases"}
    assert set(cases["task"]) == set(TASKS)


def trace(seed, probability, gold=(True, False), source="cases", target=0, task="pos"):
    about = {"source": source, "task": task, "seed": seed, "id": "e0", "record": 0, "target": target}
    spans = {"span1": "w", "span2": "", "words": "w v"}
    values = {"labels": ["A", "B"], "gold": np.asarray(gold), "probability": np.asarray(probability, np.float32)}
    return about | spans | values


def cases_of(folder, rows):
    write_parquet(pd.DataFrame(rows, columns=TRACES), folder / "0.traces.parquet")
    for name, columns in (("scores", SCORES), ("weights", WEIGHTS)):
        (folder / f"0.{name}.tsv").write_text("\t".join(columns) + "\n", encoding="utf-8")
    write_parquet(pd.DataFrame(columns=COUNTS), folder / "0.counts.parquet")
    joined(folder, [0])
    return read_table(folder / "cases.tsv", CASES)


def test_probabilities_are_normalised_over_labels_and_averaged_over_seeds(tmp_path):
    table = cases_of(tmp_path, [trace(1, [0.2, 0.2, 0.9, 0.1]), trace(2, [0.1, 0.3, 0.6, 0.2])])
    by_layer = table.pivot_table(index="top", columns="label", values="probability")
    assert by_layer["A"].tolist() == pytest.approx([(0.5 + 0.25) / 2, (0.9 + 0.75) / 2])
    assert by_layer["B"].tolist() == pytest.approx([(0.5 + 0.75) / 2, (0.1 + 0.25) / 2])
    assert dict(zip(table["label"], table["gold"], strict=True)) == {"A": 1, "B": 0}


def test_a_target_of_the_development_set_is_traced_where_no_label_is_likely_in_all_layers(tmp_path):
    rows = [
        trace(1, [0.9, 0.1, 0.9, 0.1], source="development", target=0),  # sure
        trace(1, [0.9, 0.1, 0.4, 0.1], source="development", target=1),
        trace(1, [0.4, 0.1, 0.4, 0.1], (True, True), source="development", target=2),  # no wrong label
        trace(1, [0.4, 0.1, 0.4, 0.1], (False, False), source="development", target=3),  # no right one
    ]
    assert set(cases_of(tmp_path, rows)["target"]) == {1}
    assert len(cases_of(tmp_path, [])) == 0


def test_a_table_that_cannot_be_read_is_named(tmp_path):
    cases_of(tmp_path, [])
    (tmp_path / "0.traces.parquet").write_bytes(b"x")
    with pytest.raises(AtlasError, match=r"0\.traces\.parquet"):
        joined(tmp_path, [0])
