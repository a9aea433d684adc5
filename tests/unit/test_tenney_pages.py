"""Tables, figures and comparison of Tenney et al., from probes trained on made-up states and from counts made by hand."""

from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from edge_examples import LAYERS, edge_example, telling_states
from PIL import Image
from shipped_runs import shipped, wildcards
from text_boxes import words_in

from attention_atlas.corpora.examples import write_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.shards import write_shard
from attention_atlas.io.tables import read_parquet, read_table, write_parquet, write_table
from attention_atlas.published.claims import CLAIM_COLUMNS
from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.comparison import comparison
from attention_atlas.studies.tenney2019.controls import controls_page
from attention_atlas.studies.tenney2019.figure1 import figure1
from attention_atlas.studies.tenney2019.figure2 import figure2
from attention_atlas.studies.tenney2019.figure3 import figure3
from attention_atlas.studies.tenney2019.figure_a3 import figure_a3
from attention_atlas.studies.tenney2019.layers import centre_of_gravity, expected_layer
from attention_atlas.studies.tenney2019.names import CONTROL_TASK, EARLY, EMBEDDINGS, LEXICAL, RANDOM_ENCODER
from attention_atlas.studies.tenney2019.options import options_page
from attention_atlas.studies.tenney2019.order import ORDER_PAGE, order_page
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask, probe_task
from attention_atlas.studies.tenney2019.procedure import (
    PUBLISHED_RECIPES,
    PUBLISHED_TARGETS,
    PUBLISHED_TRAINING_TARGETS,
    recipe_differences,
)
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.studies.tenney2019.resampling import is_noise, resampled_f1
from attention_atlas.studies.tenney2019.scores import CASES, COUNTS, SCORES, WEIGHTS, f1_of
from attention_atlas.studies.tenney2019.summary import (
    CONTROLS,
    FIGURE1,
    FIGURE2,
    OPTIONS,
    ORDER,
    PROBE_SCORES,
    RESAMPLES,
    STEP_LIMITS,
    SummaryOutputs,
    order_of_tasks,
    summarise,
)
from attention_atlas.studies.tenney2019.traces import FIGURE3, traced_sentences
from attention_atlas.workflow.inputs.tenney2019 import Tenney2019Inputs

TASKS = {"pos": False, "constituents": True, "dependencies": True, "entities": False}
SETTINGS = {task: RunLabel("Small run", "tiny", f"corpus of {task}", sample=True) for task in TASKS}
RECIPE = Recipe(
    batch=8,
    learning_rate=0.003,
    mixing_rate_factor=20,
    evaluation_interval=10,
    max_steps=60,
    equal_steps=40,
    halve_after=2,
    patience=3,
)
RECIPES = dict.fromkeys(TASKS, asdict(RECIPE))
SEEDS = (1, 2)
MAX_TARGETS = 4
TARGETS, TRAINING_TARGETS = 8 * 6, 24 * MAX_TARGETS
SPLITS = (("train", range(24)), ("dev", range(24, 32)), ("cases", range(40, 42)))


def corpus(folder, name, task, pairs, records, example=edge_example):
    examples = [example(record, task, pairs) for record in records]
    write_examples(folder / f"{name}.parquet", examples)
    facts = {
        "model": {"name": "tiny"},
        "layers": LAYERS,
        "lexical": True,
        "examples": [{"record": e.record, "id": e.id, "tokens": e.tokens} for e in examples],
    }
    path = folder / f"{name}.safetensors"
    write_shard(path, path.with_suffix(".json"), {e.record: telling_states(e) for e in examples}, facts)
    return ProbedCorpus([folder / f"{name}.parquet"], [path], 1000)


def probe(task, probed_task, plan, folder, name=""):
    out = Outputs(*(folder / f"{name}{kind}" for kind in ("scores", "weights", "counts", "cases")))
    probe_task(task, probed_task, plan, out)
    return out


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    """Task -> files of its probes, and those of a control model."""
    folder = tmp_path_factory.mktemp("probes")
    outputs = {}
    for task, pairs in TASKS.items():
        parts = [corpus(folder, f"{task}-{name}", task, pairs, records) for name, records in SPLITS]
        for whole in (True, False):
            plan = Plan(SEEDS, [EMBEDDINGS, LEXICAL] if whole else [EMBEDDINGS], whole, whole, MAX_TARGETS, 1000)
            probed_task = ProbedTask(*parts[:2], parts[2] if whole else None, RECIPE)
            outputs[task, whole] = probe(task, probed_task, plan, folder, f"{task}.{whole}.")
    return outputs


def task_files(probed):
    """Task -> its files by kind."""
    return {
        task: {
            **{name: getattr(probed[task, True], name) for name in ("scores", "weights", "counts")},
            "random_scores": probed[task, False].scores,
            "random_counts": probed[task, False].counts,
        }
        for task in TASKS
    }


def evaluated_examples(folder):
    """Task -> the examples that its probes are evaluated on, `summary.summarise`."""
    (records,) = [records for name, records in SPLITS if name == "dev"]
    parts = {task: corpus(folder, f"{task}-dev", task, pairs, records) for task, pairs in TASKS.items()}
    return {task: {"examples": part.examples, "limit": part.limit} for task, part in parts.items()}


@pytest.fixture(scope="module")
def pages(probed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    names = ("probe_scores", "mixing_weights", "figure1", "figure2", "controls", "order", "options", "resamples")
    evaluated = evaluated_examples(tmp_path_factory.mktemp("evaluated"))
    summarise("tiny", task_files(probed), RECIPES, 100, 0, SummaryOutputs(*(folder / name for name in names)), evaluated)
    for name, page in (("controls", controls_page), ("options", options_page)):
        page(folder / name, SETTINGS, folder / f"{name}_html")
    order_page(folder / "order", SETTINGS, folder / "order_of_paper", folder / "order_html")
    traced_sentences([task_outputs.cases for (_, whole), task_outputs in probed.items() if whole], 2, folder / "figure3")
    return folder


@pytest.fixture(scope="module")
def second_pages(probed, tmp_path_factory):
    """Tables of a second model, of which no controls were trained: here the same probes, with nine tenths of their F1."""
    folder = tmp_path_factory.mktemp("second")
    files = {}
    for task in TASKS:
        out = probed[task, True]
        scores, weights, counts = (
            read_table(out.scores, SCORES),
            read_table(out.weights, WEIGHTS),
            read_parquet(out.counts, COUNTS),
        )
        write_table(scores[scores["condition"] == EARLY].assign(f1=lambda rows: 0.9 * rows["f1"]), folder / f"{task}.scores")
        write_table(weights[weights["condition"] == EARLY], folder / f"{task}.weights")
        write_parquet(counts[counts["condition"] == EARLY], folder / f"{task}.counts")
        files[task] = {kind: folder / f"{task}.{kind}" for kind in ("scores", "weights", "counts")}
    names = ("probe_scores", "mixing_weights", "figure1", "figure2", "controls", "order", "options", "resamples")
    summarise("other", files, RECIPES, 100, 0, SummaryOutputs(*(folder / name for name in names)))
    return folder


def test_a_task_writes_all_its_probes(probed):
    out = probed["constituents", True]
    scores = read_table(out.scores, SCORES)
    kinds = scores.groupby(["layer0", "condition"])["top"].agg(lambda tops: sorted(set(tops))).to_dict()
    assert kinds == {
        (EMBEDDINGS, EARLY): list(range(LAYERS + 1)),
        (LEXICAL, EARLY): list(range(LAYERS + 1)),
        (EMBEDDINGS, "equal_steps"): [LAYERS],
        (EMBEDDINGS, "control_task"): [0, LAYERS],
        (EMBEDDINGS, "shuffled_labels"): [LAYERS],
    }
    seeds = scores.groupby("condition")["seed"].agg(lambda values: sorted(set(values))).to_dict()
    assert seeds.pop("shuffled_labels") == [SEEDS[0]], "the first seed alone"
    assert set(map(tuple, seeds.values())) == {SEEDS}
    assert (scores["targets"] == TARGETS).all()
    assert (scores["training_targets"] == TRAINING_TARGETS).all()
    weights = read_table(out.weights, WEIGHTS)
    sums = weights.groupby(["layer0", "condition", "top", "seed"])["weight"].sum()
    assert np.allclose(sums, 1, atol=1e-5), "the words alone stand in the place of layer 0"
    counts = read_parquet(out.counts, COUNTS)
    summed = counts.groupby(["layer0", "condition", "top", "seed"])[["true", "false", "missed"]].sum()
    by_key = scores.set_index(["layer0", "condition", "top", "seed"])["f1"]
    assert np.allclose(f1_of(summed), by_key.loc[summed.index], atol=1e-3)


def test_traces_have_the_right_label_and_the_likeliest_wrong_one(probed):
    cases = read_table(probed["pos", True].cases, CASES)
    traced = cases[cases["source"] == "cases"]
    assert set(traced["id"]) == {"e40", "e41"}
    by_target = traced.groupby(["id", "target"])
    assert (by_target.size() == 2 * (LAYERS + 1)).all()
    assert (by_target["label"].nunique() == 2).all()
    for (name, target), rows in by_target:
        gold = rows.loc[rows["gold"] == 1, "label"].iloc[0]
        assert gold == edge_example(int(name[1:]), "pos", False).edges[target].labels[0]
    assert traced["probability"].between(0, 1).all()
    assert not len(read_table(probed["dependencies", True].cases, CASES)), "Figure 3 has five tasks, and this is none of them"


def document_example(record, task, pairs):
    """Three sentences per document."""
    return replace(edge_example(record, task, pairs), document=f"d{record // 3}")


def test_counts_and_scores_know_the_documents_of_the_evaluated_sentences(probed, tmp_path):
    parts = [corpus(tmp_path, name, "pos", False, records, document_example) for name, records in SPLITS]
    plan = Plan([1], [EMBEDDINGS], False, False, None, 3)
    out = probe("pos", ProbedTask(*parts, replace(RECIPE, max_steps=10)), plan, tmp_path)
    counts = read_parquet(out.counts, COUNTS).drop_duplicates("record")
    assert dict(zip(counts["record"], counts["unit_number"], strict=True)) == {k: (k - 24) // 3 for k in range(24, 32)}
    scores = read_table(out.scores, SCORES)
    assert set(zip(scores["unit"], scores["units"], strict=True)) == {("documents", 3)}
    # Without names of documents, sentences stand for them.
    scores, counts = read_table(probed["pos", True].scores, SCORES), read_parquet(probed["pos", True].counts, COUNTS)
    assert set(zip(scores["unit"], scores["units"], strict=True)) == {("sentences", 8)}
    assert counts["unit_number"].nunique() == 8


def role_example(record, task, pairs):
    """Six targets of three predicates, labelled as arguments."""
    example = edge_example(record, task, pairs)
    edges = [
        replace(target, span1=(k % 3, k % 3 + 1), span2=target.span1, labels=(f"ARG{'ABC'.index(target.labels[0])}",))
        for k, target in enumerate(example.edges)
    ]
    return replace(example, edges=tuple(edges))


def test_predicates_of_a_sentence_are_counted_together_and_their_targets_numbered_through(tmp_path):
    parts = [corpus(tmp_path, name, "roles", True, records, role_example) for name, records in SPLITS]
    plan = Plan([1], [EMBEDDINGS], True, True, None, 3)
    out = probe("roles", ProbedTask(*parts, replace(RECIPE, max_steps=10)), plan, tmp_path)
    counts = read_parquet(out.counts, COUNTS)
    assert not counts.duplicated(["layer0", "condition", "top", "seed", "record"]).any()
    assert sorted(counts["record"].unique()) == list(range(24, 32))
    assert ((counts["true"] + counts["missed"])[counts["condition"] == EARLY] == 6).all()
    cases = read_table(out.cases, CASES)
    assert set(cases.loc[cases["source"] == "development", "id"]) <= {"e24", "e25", "e26"}, "three sentences, not three records"
    traced = cases[cases["source"] == "cases"]
    assert traced.groupby("id")["target"].agg(set).to_dict() == {"e40": set(range(6)), "e41": set(range(6))}
    # Numbered through its three predicates.
    example = role_example(40, "roles", True)
    in_order = [edge for k in range(3) for edge in (example.edges[k], example.edges[k + 3])]
    for number, edge in enumerate(in_order):
        rows = traced[(traced["id"] == "e40") & (traced["target"] == number)]
        assert rows.loc[rows["gold"] == 1, "label"].unique().tolist() == list(edge.labels)
        assert rows["span2"].unique().tolist() == [example.words[edge.span2[0]]]


def test_tables_follow_from_scores_and_weights(probed, pages):
    scores = read_table(pages / "probe_scores", PROBE_SCORES)
    early = scores[(scores["condition"] == EARLY) & (scores["layer0"] == EMBEDDINGS)]
    points = early.groupby(["task", "layer"])["f1"].mean()
    table = read_table(pages / "figure1", FIGURE1).set_index("task")
    weights = read_table(pages / "mixing_weights", WEIGHTS)
    top_weights = weights[(weights["condition"] == EARLY) & (weights["layer0"] == EMBEDDINGS) & (weights["top"] == LAYERS)]
    for task, row in table.iterrows():
        f1 = points[task].to_numpy()
        assert row["f1_first"] == pytest.approx(f1[0], abs=1e-3)
        assert row["f1_last"] == pytest.approx(f1[-1], abs=1e-3)
        assert row["within_noise"] == 0, "what layer 2 tells is no noise"
        assert row["expected_layer"] == pytest.approx(float(expected_layer(f1)), abs=1e-3)
        assert row["expected_low"] <= row["expected_layer"] <= row["expected_high"]
        mixing = top_weights[top_weights["task"] == task].pivot(index="seed", columns="layer", values="weight").to_numpy()
        assert row["centre"] == pytest.approx(centre_of_gravity(mixing).mean(), abs=1e-4)
    bars = read_table(pages / "figure2", FIGURE2)
    one = bars[bars["task"] == "pos"]
    assert one["delta"].iloc[1:].sum() == pytest.approx(points["pos"].iloc[-1] - points["pos"].iloc[0], abs=1e-3)
    assert one["weight"].sum() == pytest.approx(1, abs=1e-4)
    controls = read_table(pages / "controls", CONTROLS)
    assert (controls["selectivity"] - (controls["f1"] - controls["f1_control_task"])).abs().max() < 1e-3
    of_last = controls[controls["layer"] == LAYERS]
    assert of_last["f1_random_encoder"].notna().all()
    random_columns = [name for name in CONTROLS if "random_encoder" in name]
    assert controls.loc[controls["layer"] == 0, random_columns].isna().all(axis=None), "its layer 0 is another input"
    assert (of_last["above_random_encoder"] - (of_last["f1"] - of_last["f1_random_encoder"])).abs().max() < 1e-3
    best = of_last[["f1_shuffled_labels", "f1_constant_answer"]].max(axis=1)
    assert (of_last["above_label_frequencies"] - (of_last["f1"] - best)).abs().max() < 1e-3
    for name in ("selectivity", "above_random_encoder", "above_label_frequencies"):
        assert (of_last[f"{name}_low"] <= of_last[f"{name}_high"]).all()
    assert controls.groupby("layer")["f1_shuffled_labels"].count().to_dict() == {0: 0, LAYERS: len(TASKS)}
    assert (controls.loc[controls["layer"] == LAYERS, "above_label_frequencies_low"] > 0).all()
    resamples = read_parquet(pages / "resamples", RESAMPLES)
    assert (resamples.groupby("task").size() == 100).all()
    by_task = resamples.groupby("task")
    for task, row in controls[controls["layer"] == LAYERS].set_index("task").iterrows():
        draws = by_task.get_group(task)
        for name in ("selectivity", "above_label_frequencies"):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            assert np.percentile(draws[name], [2.5, 97.5]) == pytest.approx(ends, abs=1e-3)
        f1_gain = row["f1"] - controls.loc[(controls["task"] == task) & (controls["layer"] == 0), "f1"].iloc[0]
        assert draws["gain"].mean() == pytest.approx(f1_gain, abs=3)
    assert len(controls) == 2 * len(TASKS)
    assert controls["seeds_shuffled_labels"].tolist() == [0, 1] * len(TASKS)
    assert controls["seeds"].tolist() == [len(SEEDS)] * len(controls)
    page = " ".join((pages / "controls_html").read_text(encoding="utf-8").split())
    assert "for the first seed only" in page
    options = read_table(pages / "options", OPTIONS)
    assert set(options["condition"]) == {EARLY, "equal_steps"}
    assert set(options["layer0"]) == {EMBEDDINGS, LEXICAL}
    for table in (bars, options):
        sizes = table[["sentences", "targets", "unit", "units", "seeds"]].drop_duplicates().to_numpy().tolist()
        assert sizes == [[8, TARGETS, "sentences", 8, len(SEEDS)]]


def test_the_page_of_options_says_where_no_probe_stopped_early(pages, tmp_path):
    options, controls = read_table(pages / "options", OPTIONS), read_table(pages / "controls", CONTROLS)
    early = options[(options["condition"] == EARLY) & (options["layer0"] == EMBEDDINGS) & (options["gains"] == "raw")]
    equal = options[options["condition"] == "equal_steps"]
    last = controls[controls["layer"] == LAYERS]
    assert early["steps"].tolist() == last["steps"].tolist()
    assert equal["steps"].tolist() == last["equal_steps"].tolist() == [RECIPE.equal_steps] * len(TASKS)
    words = "all took the same number of steps in both conditions"
    for steps, said in ((30, False), (RECIPE.equal_steps, True)):
        write_table(options.assign(steps=options["steps"].where(options["condition"] == "equal_steps", steps)), tmp_path / "t")
        options_page(tmp_path / "t", SETTINGS, tmp_path / "html")
        page = " ".join((tmp_path / "html").read_text(encoding="utf-8").split())
        assert (words in page) == said
        assert "Sentences evaluated: Parts of speech 8" in page


def test_probes_at_the_step_limit_are_counted(pages):
    scores = read_table(pages / "probe_scores", PROBE_SCORES)
    early = scores[(scores["condition"] == EARLY) & (scores["layer0"] == EMBEDDINGS)]
    limited = early["steps"] == RECIPE.max_steps
    assert 0 < limited.mean() < 1, "some probes stop early, others do not"
    figure1_rows = read_table(pages / "figure1", FIGURE1).set_index("task")
    controls = read_table(pages / "controls", CONTROLS).set_index(["task", "layer"])
    for task in TASKS:
        of_task = early["task"] == task
        share, best = limited[of_task].mean(), (early.loc[of_task, "best_step"] == RECIPE.max_steps).mean()
        assert figure1_rows.loc[task, STEP_LIMITS].tolist() == pytest.approx([share, best], abs=1e-4)
        for layer in (0, LAYERS):
            of_layer = limited[of_task & (early["layer"] == layer)].mean()
            assert controls.loc[(task, layer), "at_step_limit"] == pytest.approx(of_layer)
        assert figure1_rows.loc[task, "at_step_limit_first"] == controls.loc[(task, 0), "at_step_limit"]


def test_divergences_of_a_gain_within_noise_are_left_out(probed, tmp_path):
    """A probe whose layers add nothing to layer 0: its counts and scores are those of layer 0 throughout."""
    files = dict(task_files(probed)["pos"])
    scores, counts = read_table(files["scores"], SCORES), read_parquet(files["counts"], COUNTS)
    first = scores[scores["top"] == 0].set_index(["layer0", "condition", "seed"])["f1"]
    keys = pd.MultiIndex.from_frame(scores[["layer0", "condition", "seed"]])
    nudge = 1e-3 * scores["top"]
    write_table(scores.assign(f1=first.reindex(keys).to_numpy() + nudge), tmp_path / "scores")
    same = counts[counts["top"] == 0].set_index(["layer0", "condition", "seed", "record"])[["true", "false", "missed"]]
    keys = pd.MultiIndex.from_frame(counts[["layer0", "condition", "seed", "record"]])
    flat = counts.assign(**same.reindex(keys).fillna(0).astype(int).reset_index(drop=True))
    write_parquet(flat, tmp_path / "counts")
    names = ("probe_scores", "mixing_weights", "figure1", "figure2", "controls", "order", "options", "resamples")
    outputs = SummaryOutputs(*(tmp_path / f"{name}.out" for name in names))
    files |= {"scores": tmp_path / "scores", "counts": tmp_path / "counts"}
    summarise("tiny", {"pos": files}, RECIPES, 100, 0, outputs)
    for name, columns in (("figure1", FIGURE1), ("figure2", FIGURE2), ("options", OPTIONS)):
        table = read_table(tmp_path / f"{name}.out", columns)
        noisy = table[table["within_noise"] == 1]
        assert len(noisy)
        assert noisy["k_delta"].isna().all()
        assert noisy["k_s"].notna().all()


def test_the_order_has_the_layers_of_the_paper(pages):
    table = read_table(pages / "order_of_paper", ORDER_PAGE)
    papers = {"pos": 3.39, "constituents": 3.79, "dependencies": 5.69, "entities": 4.64}
    assert dict(zip(table["task"], table["paper_expected_layer"], strict=True)) == papers
    following = table.dropna(subset="next_task")
    assert following["paper_next_expected_layer"].tolist() == [papers[task] for task in following["next_task"]]


def test_shares_of_gains_have_the_intervals_of_their_resamples(probed, pages):
    bars = read_table(pages / "figure2", FIGURE2).query("task == 'dependencies'")
    f1 = bars["f1"].to_numpy()
    assert bars["share"].iloc[1:].to_numpy() == pytest.approx(np.diff(f1) / (f1.max() - f1[0]), abs=1e-3)
    resampled = resampled_f1(read_parquet(probed["dependencies", True].counts, COUNTS), 100, list(TASKS).index("dependencies"))
    shares = np.diff(resampled) / (resampled.max(axis=1) - resampled[:, 0])[:, None]
    low, high = np.percentile(shares, [2.5, 97.5], axis=0)
    assert bars["share_low"].iloc[1:].to_numpy() == pytest.approx(low, abs=1e-3)
    assert bars["share_high"].iloc[1:].to_numpy() == pytest.approx(high, abs=1e-3)
    assert bars[["share", "share_low", "share_high"]].iloc[0].isna().all()


def by_hand(cube):
    """Counts [seed, top, sentence, 3] as a table."""
    rows = [
        ["pos", EMBEDDINGS, EARLY, top, seed, record, record, *map(int, cube[seed, top, record])]
        for seed in range(cube.shape[0])
        for top in range(cube.shape[1])
        for record in range(cube.shape[2])
    ]
    return pd.DataFrame(rows, columns=COUNTS).sample(frac=1, random_state=0)


def test_resamples_are_drawn_from_sentences_and_seeds():
    cube = np.random.default_rng(0).integers(0, 5, size=(3, 2, 40, 3))
    resampled = resampled_f1(by_hand(cube), 3000, 1)
    generator = np.random.default_rng(5)
    by_seed = f1_of(cube.sum(axis=2))
    slow = []
    for _ in range(3000):
        f1 = f1_of(cube[:, :, generator.integers(40, size=40)].sum(axis=2)).mean(axis=0)
        for top in range(2):
            deviations = by_seed[:, top] - by_seed[:, top].mean()
            f1[top] += np.sqrt(3 / 2) * np.mean([deviations[generator.integers(3)] for _ in range(3)])
        slow.append(f1)
    assert resampled.mean(axis=0) == pytest.approx(np.mean(slow, axis=0), abs=0.4)
    assert resampled.std(axis=0) == pytest.approx(np.std(slow, axis=0), rel=0.1)
    same = np.repeat(cube[:1], 3, axis=0)[:, :, :1]
    assert resampled_f1(by_hand(same), 5, 0) == pytest.approx(np.repeat([f1_of(same[0, :, 0])], 5, axis=0)), (
        "nothing to draw from"
    )


def test_documents_are_drawn_whole():
    cube = np.random.default_rng(0).integers(0, 5, size=(2, 2, 40, 3))
    document = np.array([*[0] * 10, *[1] * 3, *[2] * 20, *[3] * 7])
    counts = by_hand(cube).assign(unit_number=lambda rows: document[rows["record"]])
    of_documents = np.stack([cube[:, :, document == number].sum(axis=2) for number in range(4)], axis=2)
    assert resampled_f1(counts, 200, 3) == pytest.approx(resampled_f1(by_hand(of_documents), 200, 3))


def test_seeds_alone_vary_as_the_mean_of_three_does():
    # Every sentence alike: only seeds vary, and the variance of their mean is s^2 / 3.
    right = np.array([[60, 50], [70, 55], [80, 54]])
    counts = np.stack([right, 100 - right, 100 - right], axis=-1)
    resampled = resampled_f1(by_hand(np.repeat(counts[:, :, None], 30, axis=2)), 4000, 0)
    assert resampled.std(axis=0) == pytest.approx(right.std(axis=0, ddof=1) / np.sqrt(3), rel=0.05)
    assert abs(np.corrcoef(resampled.T)[0, 1]) < 0.06, "probes of two layers are trained separately"


def test_a_control_of_one_seed_varies_as_one_of_the_other_seeds():
    # Every sentence alike: only seeds vary, and a single one has the variance s^2 of those that it is compared with.
    right = np.array([[60, 50], [70, 55], [80, 54]])
    cube = np.repeat(np.stack([right, 100 - right, 100 - right], axis=-1)[:, :, None], 30, axis=2)
    single = by_hand(cube[1:2, 1:]).assign(condition="shuffled_labels", top=1)
    counts = pd.concat([by_hand(cube), single])
    resampled = resampled_f1(counts, 4000, 0, condition="shuffled_labels")
    assert resampled.shape == (4000, 1)
    assert resampled.mean() == pytest.approx(55, abs=0.2)
    assert resampled.std() == pytest.approx(right[:, 1].std(ddof=1), rel=0.05)


def test_conditions_share_sentences_and_differ_by_their_seeds():
    cube = np.random.default_rng(0).integers(0, 5, size=(1, 2, 40, 3))
    counts = pd.concat([by_hand(cube), by_hand(cube).assign(condition=CONTROL_TASK)])
    early, control = (resampled_f1(counts, 50, 3, condition=condition) for condition in (EARLY, CONTROL_TASK))
    assert (early == control).all()
    assert early.std() > 0
    assert resampled_f1(counts, 50, 3, condition=RANDOM_ENCODER).shape == (50, 0)


def test_a_gain_within_its_error_is_noise_and_leaves_the_order():
    generator = np.random.default_rng(0)
    sure = {"pos": [50.0, 90, 92, 93], "roles": [50.0, 60, 70, 93], "entities": [90.0, 90.1, 90, 90.2]}
    points = {task: np.asarray(values) for task, values in sure.items()}
    resampled = {task: values + generator.normal(size=(500, 4)) for task, values in points.items()}
    assert [is_noise(points[task], resampled[task]) for task in points] == [False, False, True]
    units = {"pos": "documents", "roles": "sentences", "entities": "documents"}
    order = order_of_tasks(points, resampled, units)
    assert order["unit"].fillna("").tolist() == ["documents or sentences", "", ""]
    assert order[["task", "next_task", "within_noise"]].fillna("").to_numpy().tolist() == [
        ["pos", "roles", 0],
        ["roles", "", 0],
        ["entities", "", 1],
    ]
    assert order.set_index("task").loc["roles", "expected_layer"] == pytest.approx(float(expected_layer(points["roles"])))
    assert order.loc[1:, "probability"].isna().all()
    assert order["probability"].iloc[0] == 1
    assert order["difference"].iloc[0] == pytest.approx(
        float(expected_layer(points["roles"]) - expected_layer(points["pos"])), abs=1e-9
    )
    alike = {task: points["pos"] + generator.normal(scale=3, size=(2000, 4)) for task in ("pos", "roles")}
    drawn = order_of_tasks({task: points["pos"] + k * 1e-6 for k, task in enumerate(alike)}, alike, units)
    assert 0.4 < drawn["probability"].iloc[0] < 0.6
    nothing = order_of_tasks({"entities": points["entities"]}, {"entities": resampled["entities"]}, units)
    assert list(nothing.columns) == ORDER
    assert nothing["expected_layer"].isna().all()


def test_figures_are_drawn_and_the_same_twice(pages, second_pages, tmp_path):
    drawings = {
        "figure1": partial(figure1, pages / "figure1", SETTINGS),
        "figure2": partial(figure2, pages / "figure2", SETTINGS),
        "figure_a3": partial(figure_a3, second_pages / "figure2", pages / "figure2", SETTINGS, tmp_path / "figure_a3"),
        "figure3": partial(figure3, pages / "figure3", SETTINGS),
    }
    for name, draw in drawings.items():
        files = [{kind: tmp_path / f"{name}{k}.{kind}" for kind in ("svg", "png", "pdf")} for k in (0, 1)]
        for pictures in files:
            draw(pictures)
        assert all(files[0][kind].read_bytes() == files[1][kind].read_bytes() for kind in files[0])
        with Image.open(files[0]["png"]) as picture:
            assert min(picture.size) > 300, name
    bars = read_table(tmp_path / "figure_a3", FIGURE2)
    assert bars["model"].unique().tolist() == ["other", "tiny"], "the second model stands first"
    text = (tmp_path / "figure10.svg").read_text(encoding="utf-8")
    assert "Parts of speech" in text
    assert "Expected layer" in text
    for name in ("figure2", "figure_a3"):
        words = words_in(tmp_path / f"{name}0.svg")
        assert "n: sentences evaluated; probes of 2 seeds" in words, name
        assert words.count("n = 8") == len(TASKS), name
    (tmp_path / "none").write_text("\t".join(FIGURE3) + "\n", encoding="utf-8")
    figure3(tmp_path / "none", SETTINGS, {"svg": tmp_path / "none.svg"})
    assert "no sentence has more than one target in doubt" in (tmp_path / "none.svg").read_text(encoding="utf-8")


RELEASED = {task: asdict(PUBLISHED_RECIPES.get(task, Recipe())) | {"max_targets": None} for task in TASKS}


def publish_sizes(monkeypatch, *tasks):
    """As if the authors' data sets had as many targets as those of these tests."""
    for task in tasks:
        monkeypatch.setitem(PUBLISHED_TARGETS, task, TARGETS)
        monkeypatch.setitem(PUBLISHED_TRAINING_TARGETS, task, TRAINING_TARGETS)


def compared(pages, folder, settings, recipes=RELEASED, second=None, second_settings=None):
    files = [folder / name for name in ("c.tsv", "c.html", "claims.tsv", "claims.html")]
    names = ("figure1", "figure2", "controls", "order", "options", "mixing_weights")
    of_second = {name: [second / name] if second else [] for name in ("figure1", "figure2", "options", "mixing_weights")}
    tables = {name: pages / name for name in names}
    comparison(tables, of_second, pages / "resamples", settings, second_settings or {}, recipes, *files)
    return pd.read_csv(files[0], sep="\t").set_index("id"), read_table(files[2], list(CLAIM_COLUMNS))


def test_every_published_value_is_compared_or_has_a_reason(pages, tmp_path):
    values, claims = compared(pages, tmp_path, SETTINGS)
    assert list(values.index) == list(load_published("tenney2019"))
    assert values["why"].notna().all()
    assert set(values["verdict"]) == {"not comparable", "not computed"}
    assert set(claims["verdict"]) <= {"holds", "does not hold", "undecided"}
    assert len(claims) > 5
    assert claims[["statistic", "n", "unit"]].notna().all(axis=None)
    assert (claims["n"] > 0).all()
    assert set(claims["unit"]) == {"sentences", "probe seeds"}
    page = " ".join((tmp_path / "claims.html").read_text(encoding="utf-8").split())
    assert "with them the probes of 2 seeds" in page


def test_numbers_of_the_papers_model_and_data_are_compared(pages, tmp_path, monkeypatch):
    publish_sizes(monkeypatch, "pos", "constituents")
    papers = RunLabel("Run", "bert", "ontonotes", model_reference="bert-base-uncased", corpus_reference="OntoNotes 5.0 dev")
    values, _ = compared(pages, tmp_path, SETTINGS | {"pos": papers, "constituents": papers})
    assert set(values.loc[["t19.base.pos.f1_l0", "t19.base.consts.expected_layer", "t19.iclr.base.pos.f1_lex"], "verdict"]) <= {
        *("match", "covered by our interval", "differs"),
    }
    assert values.loc["t19.large.pos.f1_l0", "why"] == ("model bert instead of bert-large-uncased")
    assert values.loc["t19.iclr.base.entities.f1_lex", "verdict"] == "not comparable"
    assert values.loc["t19.iclr.base.coref.f1_lex", "verdict"] == "not computed"


def test_numbers_of_the_second_model_are_compared_with_that_model(pages, second_pages, tmp_path, monkeypatch):
    large = RunLabel("Run", "large", "ontonotes", model_reference="bert-large-uncased", corpus_reference="OntoNotes 5.0 dev")
    base = replace(large, model="base", model_reference="bert-base-uncased")
    labels = [SETTINGS | dict.fromkeys(("pos", "constituents"), label) for label in (large, base)]
    publish_sizes(monkeypatch, "pos", "constituents")
    alone, _ = compared(pages, tmp_path, labels[0])
    assert alone.loc["t19.base.pos.f1_l0", "comparable"] == "no"
    values, _ = compared(pages, tmp_path, labels[0], RELEASED, second_pages, labels[1])
    own, other = (read_table(folder / "figure1", FIGURE1).set_index("task") for folder in (pages, second_pages))
    assert values.loc["t19.large.pos.f1_l0", "comparable"] == values.loc["t19.base.pos.f1_l0", "comparable"] == "close"
    assert float(values.loc["t19.large.pos.f1_l0", "ours"]) == pytest.approx(own.loc["pos", "f1_first"], abs=0.1)
    assert float(values.loc["t19.base.pos.f1_l0", "ours"]) == pytest.approx(other.loc["pos", "f1_first"], abs=0.1)
    assert values.loc["t19.iclr.base.pos.f1_lex", "comparable"] == "close"
    compared_ids = {name for name in values.index if values.loc[name, "comparable"] == "close" and ".base." in name}
    published = {f"t19.base.{task}.{kind}" for task in ("pos", "consts") for kind in ("f1_l0", "f1_l12", "expected_layer")}
    assert published | {"t19.iclr.base.pos.f1_lex", "t19.iclr.base.consts.f1_lex"} <= compared_ids
    assert values.loc["t19.base.entities.f1_l0", "comparable"] == "no", "this run has that task on another corpus"
    faster = RELEASED | {"pos": RELEASED["pos"] | {"learning_rate": 0.0005}}
    values, _ = compared(pages, tmp_path, labels[0], faster, second_pages, labels[1])
    assert values.loc["t19.base.pos.f1_l12", "why"].startswith("different recipe: learning_rate 0.0005")
    # The same values are the run's own where both of its models are the paper's BERT-base.
    values, _ = compared(pages, tmp_path, labels[1], RELEASED, second_pages, labels[1])
    assert float(values.loc["t19.base.pos.f1_l0", "ours"]) == pytest.approx(own.loc["pos", "f1_first"], abs=0.1)


def test_another_recipe_or_another_number_of_targets_is_not_compared(pages, tmp_path, monkeypatch):
    papers = RunLabel("Run", "bert", "ontonotes", model_reference="bert-base-uncased", corpus_reference="OntoNotes 5.0 dev")
    settings, name = SETTINGS | {"pos": papers}, "t19.base.pos.f1_l12"
    values, _ = compared(pages, tmp_path, settings)
    assert values.loc[name, "comparable"] == "no"
    sizes = "48 targets (the authors' development set has 290013); 96 training targets (the authors' set has 2070382)"
    assert sizes in values.loc[name, "why"]
    for published, count, missing in (
        (PUBLISHED_TARGETS, TARGETS, "96 training targets"),
        (PUBLISHED_TRAINING_TARGETS, TRAINING_TARGETS, "48 targets"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(published, "pos", count)
            values, _ = compared(pages, tmp_path, settings)
        assert values.loc[name, "comparable"] == "no"
        assert values.loc[name, "why"].startswith(missing)
    publish_sizes(monkeypatch, "pos")
    assert compared(pages, tmp_path, settings)[0].loc[name, "comparable"] == "close"
    faster = RELEASED | {"pos": RELEASED["pos"] | {"learning_rate": 0.0005, "equal_steps": 3000, "max_targets": 6}}
    values, _ = compared(pages, tmp_path, settings, faster)
    assert values.loc[name, "comparable"] == "no"
    words = "different recipe: learning_rate 0.0005 (published 0.0001), max_targets 6 (published all)"
    assert values.loc[name, "why"].startswith(words)


def test_the_papers_run_trains_by_the_published_recipe_and_no_other_run_does():
    inputs = Tenney2019Inputs(shipped())
    recipes = inputs.task_recipes(wildcards("paper"))
    assert set(recipes) == set(PUBLISHED_TARGETS) == set(PUBLISHED_TRAINING_TARGETS)
    assert not [words for task, recipe in recipes.items() for words in recipe_differences(task, recipe)]
    for run in ("sample", "laptop", "open"):
        assert all(recipe_differences(task, recipe) for task, recipe in inputs.task_recipes(wildcards(run)).items())


def test_training_in_the_papers_run_evaluates_the_first_sentences_of_the_file():
    """Of OntoNotes' 15,680 development sentences the authors take the first 5,000; their other sets have fewer."""
    config = shipped()
    tasks = config["runs"]["paper"]["tenney2019"]["tasks"]
    of_ontonotes = {tasks[task]["development"] for task in ("pos", "constituents", "entities", "roles", "coreference")}
    assert [config["corpora"][corpus]["order"] for corpus in of_ontonotes] == ["file"]
    assert Tenney2019Inputs(config).task_recipes(wildcards("paper"))["pos"]["evaluation_sentences"] == 5000


def test_the_words_alone_need_a_model_that_has_them(tmp_path):
    part = corpus(tmp_path, "a", "pos", False, range(6))
    path = part.states[0]
    facts = {
        "model": {"name": "tiny"},
        "layers": LAYERS,
        "lexical": False,
        "examples": [{"record": k, "id": f"e{k}", "tokens": edge_example(k, "pos", False).tokens} for k in range(6)],
    }
    states = {k: telling_states(edge_example(k, "pos", False))[:-1] for k in range(6)}
    write_shard(path, path.with_suffix(".json"), states, facts)
    out = Outputs(*(tmp_path / kind for kind in ("scores", "weights", "counts", "cases")))
    with pytest.raises(AtlasError, match="layer0: lexical needs a model with embeddings like BERT's"):
        probe_task("pos", ProbedTask(part, part, None, RECIPE), Plan([1], [EMBEDDINGS, LEXICAL], True, True, None, 10), out)
    assert not out.scores.exists()
