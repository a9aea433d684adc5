"""Importance of heads and pruning: derivatives, definitions, orders, steps, heads cut out; against loops and differences."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp
from tiny_models import HEADS, LAYERS, PAD, batch_for, installed, main_output, run, tiny

from attention_atlas.attention.engine import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, attention_shape, install, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_parquet
from attention_atlas.methods import masked_heads as gradients_module
from attention_atlas.methods.head_measures import (
    ANSWERS,
    CLASSIFICATION,
    CODE,
    DEFINITIONS,
    HEAD,
    KEYS,
    PAPER,
    PER_BATCH,
    SCRIPT,
    STEP,
    TRANSLATION,
)
from attention_atlas.methods.importance import Derivatives, importance, normalised, read_derivatives, unnormalised
from attention_atlas.methods.masked_heads import (
    KINDS,
    Step,
    ascending,
    head_gradients,
    heads_of,
    next_places,
    plan_without,
    step_answers,
    steps,
)
from attention_atlas.models.card import ModelCard
from attention_atlas.models.head_weights import prune_heads as cut_heads
from attention_atlas.models.task_heads import UNCOUNTED, logits, predicted, target_loss
from attention_atlas.studies.michel2019 import experiments
from attention_atlas.studies.michel2019.effects import HEAD_IMPORTANCE, IMPORTANCE, WHOLE, head_importance
from attention_atlas.studies.michel2019.experiments import TIMING, Classification, gradient_rows, timing
from attention_atlas.studies.michel2019.tables import TABLE4, VARIANTS, table4


def example(record, size, label="no"):
    ids = tuple(5 + (record * 7 + k * 3) % 50 for k in range(size))
    word = (SPECIAL, *range(size - 2), SPECIAL)
    return Example(
        record=record, id=str(record), words=tuple("w" * (size - 2)), input_ids=ids, word=word, segment_ids=(0,) * size,
        tokens=("t",) * size, label=label,
    )  # fmt: skip


EXAMPLES = [example(k, size, ("no", "yes", "maybe")[k % 3]) for k, size in enumerate((5, 9, 4, 7, 9, 6, 5))]


class TinyTranslation:
    """A translation model whose references are pieces made from the sentence's number."""

    name = TRANSLATION
    pad = PAD

    def __init__(self):
        self.model = installed("marian").requires_grad_(False)

    def pieces(self, one):
        return [5 + (one.record * 11 + k * 5) % 50 for k in range(3 + one.record % 4)] + [2]

    def loss(self, inputs, batch):
        return target_loss(self.model, inputs, [self.pieces(one) for one in batch])


@pytest.fixture(scope="module", params=["bert_classifier", "marian"])
def experiment(request):
    if request.param == "marian":
        return TinyTranslation()
    model = installed("bert_classifier").requires_grad_(False)
    model.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
    return Classification(model, PAD)


def alone(experiment, one, plan=None):
    """Loss of one example by itself."""
    inputs = {"input_ids": torch.tensor([one.input_ids]), "attention_mask": torch.ones(1, len(one.input_ids), dtype=torch.long)}
    with torch.no_grad(), watch(experiment.model, plan=plan) as session:
        session.batch(inputs["attention_mask"])
        return float(experiment.loss(inputs, [one]))


def test_pieces_of_a_translation_beyond_the_models_positions_do_not_count(caplog):
    model = installed("marian").requires_grad_(False)
    positions = model.config.max_position_embeddings
    pieces = [5 + k % 50 for k in range(positions + 9)]
    inputs = {"input_ids": torch.tensor([[5, 6, 2]]), "attention_mask": torch.ones(1, 3, dtype=torch.long)}
    losses = []
    for size in (positions + 9, positions, positions - 1):
        with torch.no_grad(), watch(model) as session:
            session.batch(inputs["attention_mask"])
            losses.append(float(target_loss(model, inputs, [pieces[:size]])))
    assert losses[0] == losses[1] > losses[2]
    assert f"1 translations are truncated to the model's {positions} positions" in caplog.text


def test_derivatives_are_those_of_each_example_by_itself(experiment, monkeypatch):
    derivatives = head_gradients(experiment, EXAMPLES)
    assert derivatives.gradient.shape == (len(EXAMPLES), len(heads_of(attention_shape(experiment.model))))
    monkeypatch.setattr(gradients_module, "GRADIENT_TOKENS", 10)
    small = head_gradients(experiment, EXAMPLES)
    assert small.gradient == pytest.approx(derivatives.gradient, abs=2e-5)
    assert small.by_position == pytest.approx(derivatives.by_position, abs=2e-5)
    assert (small.positions == derivatives.positions).all()
    step = 0.02
    for place in (0, 3, len(derivatives.heads) - 1):
        kind, layer, head = derivatives.heads.loc[place, HEAD]
        site = KINDS[kind]
        for row in (1, 4):
            losses = []
            for sign in (1, -1):
                gates = torch.ones(attention_shape(experiment.model)[site])
                gates[layer - 1, head - 1] += sign * step
                losses.append(alone(experiment, EXAMPLES[row], Plan().gated(gates, site)))
            slope = (losses[0] - losses[1]) / (2 * step)
            assert derivatives.gradient[row, place] == pytest.approx(slope, abs=3e-3, rel=0.02)


def test_products_at_positions_sum_to_the_derivative_and_magnitudes_to_more(experiment):
    derivatives = head_gradients(experiment, EXAMPLES)
    assert (derivatives.by_position >= np.abs(derivatives.gradient) - 1e-5).all()
    lengths = np.asarray([len(one.input_ids) for one in EXAMPLES])
    before_last = (derivatives.heads["kind"] == "enc_enc") & (derivatives.heads["layer"] < LAYERS)
    assert (derivatives.positions[:, before_last] == lengths[:, None]).all(), "every token but padding reaches the loss"
    last = (derivatives.heads["kind"] == "enc_enc") & (derivatives.heads["layer"] == LAYERS)
    if experiment.name == CLASSIFICATION:
        assert (derivatives.positions[:, last] == 1).all(), "of the last layer only the token that is classified"
    else:
        targets = np.asarray([len(experiment.pieces(one)) for one in EXAMPLES])
        cross = derivatives.heads["kind"] == "enc_dec"
        assert (derivatives.positions[:, cross] == targets[:, None]).all()


def test_masked_heads_have_no_derivative_and_others_that_of_the_changed_model(experiment):
    heads = heads_of(attention_shape(experiment.model))
    plan = plan_without(heads.iloc[[1, 5]])
    derivatives = head_gradients(experiment, EXAMPLES, plan)
    assert (derivatives.gradient[:, [1, 5]] == 0).all()
    assert (np.abs(derivatives.gradient).max(axis=0) > 0).sum() == len(heads) - 2
    place, step = 2, 0.02
    kind, layer, head = heads.loc[place, HEAD]
    losses = []
    for sign in (1, -1):
        gates = torch.ones(attention_shape(experiment.model)[KINDS[kind]])
        gates[layer - 1, head - 1] += sign * step
        losses.append(alone(experiment, EXAMPLES[1], plan.gated(gates, KINDS[kind])))
    assert derivatives.gradient[1, place] == pytest.approx((losses[0] - losses[1]) / (2 * step), abs=3e-3, rel=0.02)


def test_a_loss_that_is_not_finite_is_refused():
    class Broken(TinyTranslation):
        def loss(self, inputs, batch):
            return super().loss(inputs, batch) * float("nan")

    with pytest.raises(AtlasError, match="the loss is not finite for a batch with example"):
        head_gradients(Broken(), EXAMPLES)


def test_the_loss_of_translations_is_the_sum_over_pieces_one_after_the_other():
    experiment = TinyTranslation()
    start = experiment.model.config.decoder_start_token_id
    total = 0.0
    for one in EXAMPLES[:3]:
        pieces = experiment.pieces(one)
        for k, piece in enumerate(pieces):
            with torch.no_grad():
                ids = {"input_ids": torch.tensor([one.input_ids]), "decoder_input_ids": torch.tensor([[start, *pieces[:k]]])}
                total -= float(experiment.model(**ids).logits[0, -1].log_softmax(-1)[piece])
    inputs = {"input_ids": torch.full((3, 9), PAD), "attention_mask": torch.zeros(3, 9, dtype=torch.long)}
    for row, one in enumerate(EXAMPLES[:3]):
        inputs["input_ids"][row, : len(one.input_ids)] = torch.tensor(one.input_ids)
        inputs["attention_mask"][row, : len(one.input_ids)] = 1
    with torch.no_grad():
        assert float(experiment.loss(inputs, EXAMPLES[:3])) == pytest.approx(total, rel=1e-5)
    assert UNCOUNTED == -100


def random_derivatives(seed=0, examples=11):
    generator = np.random.default_rng(seed)
    heads = pd.DataFrame([("enc_enc", layer, head) for layer in (1, 2) for head in (1, 2, 3)], columns=HEAD)
    gradient = generator.normal(size=(examples, 6))
    by_position = np.abs(gradient) + generator.random((examples, 6))
    return Derivatives(heads, gradient, by_position, generator.integers(3, 9, (examples, 6)).astype(float))


def test_definitions_are_loops_over_examples_and_batches():
    of, batch = random_derivatives(), 4
    n = len(of.gradient)
    for head in range(6):
        paper = sum(abs(of.gradient[k, head]) for k in range(n)) / n
        assert unnormalised(of, PAPER, batch)[head] == pytest.approx(paper)
        tokens = sum(of.positions[k, head] for k in range(n))
        assert unnormalised(of, CODE, batch)[head] == pytest.approx(sum(of.by_position[k, head] for k in range(n)) / tokens)
        per_batch, script, running = 0.0, 0.0, 0.0
        for start in range(0, n, batch):
            total = sum(of.gradient[k, head] for k in range(start, min(start + batch, n)))
            running += total
            per_batch, script = per_batch + abs(total), script + abs(running)
        assert unnormalised(of, PER_BATCH, batch)[head] == pytest.approx(per_batch / n)
        assert unnormalised(of, SCRIPT, batch)[head] == pytest.approx(script / n)
    assert unnormalised(of, PER_BATCH, 1) == pytest.approx(unnormalised(of, PAPER, 1))


@given(st.lists(st.floats(0, 100), min_size=6, max_size=6))
def test_importance_has_norm_one_in_each_layer(values):
    heads = random_derivatives().heads
    scaled = normalised(np.asarray(values), heads)
    for layer in (1, 2):
        layer_values = scaled[(heads["layer"] == layer).to_numpy()]
        whole = np.linalg.norm(np.asarray(values)[(heads["layer"] == layer).to_numpy()])
        assert np.linalg.norm(layer_values) == pytest.approx(1 if whole > 1e-150 else np.linalg.norm(layer_values))
        assert np.isfinite(layer_values).all()


def test_the_table_of_importance_has_every_definition_and_head(tmp_path):
    of = random_derivatives()
    write_parquet(gradient_rows(of, range(len(of.gradient))), tmp_path / "g.parquet")
    back = read_derivatives(tmp_path / "g.parquet")
    assert back.gradient == pytest.approx(of.gradient)
    assert back.by_position == pytest.approx(of.by_position)
    table = head_importance(CLASSIFICATION, back, 4, 200, 0)["head_importance"]
    assert list(table.columns) == HEAD_IMPORTANCE
    assert len(table) == 6 * len(DEFINITIONS)
    paper_rows = table[table["definition"] == PAPER]
    assert paper_rows["importance"].to_numpy() == pytest.approx(importance(of, PAPER, 4), rel=1e-4)
    assert paper_rows["spearman"].to_numpy() == pytest.approx(1)
    assert paper_rows["ci_low"].le(paper_rows["importance"]).all()
    assert paper_rows["ci_high"].ge(paper_rows["importance"]).all()
    assert table.loc[table["definition"] == SCRIPT, "ci_low"].isna().all()


def test_steps_round_as_the_published_code():
    assert [count for _, count in steps(144, 5, CLASSIFICATION)][:9] == [0, 7, 14, 21, 28, 36, 43, 50, 57]
    assert steps(96, 10, TRANSLATION)[:3] == [(0, 0), (10, 10), (20, 20)]
    assert steps(96, 10, TRANSLATION)[-1] == (100, 96)
    assert [percent for percent, _ in steps(10, 30, TRANSLATION)] == [0, 30, 60, 90, 100]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_orders_are_permutations_and_ties_keep_their_order(values):
    places = ascending(values)
    assert sorted(places) == list(range(len(values)))
    assert places == sorted(range(len(values)), key=lambda place: (values[place], place))
    first = next_places(values, places[:1], min(3, len(values)))
    assert first == places[: min(3, len(values))]


CUTS = {
    "bert": {(ENCODER_SELF, 0): [1, 3], (ENCODER_SELF, 2): [0]},
    "roberta": {(ENCODER_SELF, 1): [0, 1, 2]},
    "distilbert": {(ENCODER_SELF, 1): [2], (ENCODER_SELF, 0): [0, 3]},
    "marian": {(ENCODER_SELF, 0): [1], (DECODER_SELF, 1): [0, 2], (DECODER_CROSS, 0): [3]},
}
ALL_OF_A_LAYER = {"bert": {(ENCODER_SELF, 1): [0, 1, 2, 3]}, "marian": {(DECODER_CROSS, 1): [0, 1, 2, 3]}}


@pytest.mark.parametrize(
    ("name", "cuts"), [*CUTS.items(), *ALL_OF_A_LAYER.items()], ids=[*CUTS, *(f"{name}, a layer" for name in ALL_OF_A_LAYER)]
)
@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
def test_heads_cut_out_are_heads_masked(name, cuts, kernel):
    plan = Plan()
    for (site, layer), heads in cuts.items():
        plan = plan.zero(layer, heads, site)
    batch = batch_for(name)
    masked = main_output(run(installed(name), batch, plan=plan))
    model = tiny(name)
    before = sum(weights.numel() for weights in model.parameters())
    cut_heads(model, cuts)
    model.set_attn_implementation(kernel)
    with torch.no_grad():
        pruned = main_output(model(**batch))
        whole = main_output(tiny(name)(**batch))
    real = batch.get("decoder_attention_mask", batch["attention_mask"]).bool()
    assert float((masked - pruned)[real].abs().max()) < 1e-5
    assert float((masked - whole)[real].abs().max()) > 1e-3
    gone = sum(len(heads) for heads in cuts.values())
    # Of each head its rows of three projections with biases, and its columns of the fourth.
    assert before - sum(weights.numel() for weights in model.parameters()) == gone * (4 * 4 * 16 + 3 * 4)


def test_heads_that_are_not_there_cannot_be_cut_out():
    with pytest.raises(AtlasError, match="there is no encoder/self attention with layer 7"):
        cut_heads(tiny("bert"), {(ENCODER_SELF, 7): [0]})
    with pytest.raises(AtlasError, match="shares its layers"):
        cut_heads(tiny("albert"), {(ENCODER_SELF, 0): [0]})
    with pytest.raises(AtlasError, match="the projections of"):
        cut_heads(tiny("gpt2"), {(DECODER_SELF, 0): [0]})


def test_answers_of_steps_are_those_of_each_set_of_heads_by_itself():
    model = installed("bert_classifier").requires_grad_(False)
    model.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
    experiment = Classification(model, PAD)
    heads = heads_of(attention_shape(experiment.model))
    pruning_steps = [
        Step("importance", "all", 0, 0, ()),
        Step("importance", "all", 0, 50, (0, 1, 2, 5, 9, 11)),
        Step("ablation_heldout", "all", 0, 50, (3, 4), 0),
        Step("ablation_heldout", "all", 0, 50, (8, 10), 1),
        Step("random", "all", 1, 50, (11, 9, 5, 2, 1, 0)),
    ]
    table = step_answers(experiment, heads, pruning_steps, EXAMPLES)
    assert table.groupby(["order", "percent"], sort=False).size().tolist() == [7, 7, 7, 7]
    assert (table.groupby(["order", "percent"])["record"].apply(list).map(tuple) == tuple(range(7))).all()
    assert table["expected"].tolist() == [one.label for one in EXAMPLES] * 4
    answers = {key: rows["answer"].tolist() for key, rows in table.groupby(["order", "percent"])}
    assert answers["importance", 50] == answers["random", 50]

    def slow(places):
        return experiment.answers(EXAMPLES, [plan_without(heads.iloc[list(places)])])[1]

    assert answers["importance", 50] == slow((0, 1, 2, 5, 9, 11))
    first, second = slow((3, 4)), slow((8, 10))
    assert answers["ablation_heldout", 50] == [(first, second)[k % 2][k] for k in range(7)]


SPEED = {"batches": [1, 4, 6], "repeats": 2}


@pytest.fixture
def times():
    """Times of a small classifier with random weights, on five examples."""
    model = tiny("bert_classifier")
    install(model)
    card = ModelCard("tiny", "made up", "bert", 3, 4, 40, "c", "s", PAD, "", "random", 0, "float32")
    heads = heads_of({ENCODER_SELF: (LAYERS, HEADS)}).assign(task=CLASSIFICATION, definition=PAPER)
    heads = heads.assign(importance=range(12))
    return lambda **changed: timing(model, card, EXAMPLES[:5], heads, PAPER, SPEED | changed)


def test_speed_is_measured_for_every_variant_and_batch(times):
    measured = times()
    assert list(measured.columns) == TIMING
    assert measured.groupby("batch")["variant"].apply(list).tolist() == [[WHOLE, IMPORTANCE]] * 2
    assert (measured["examples_per_second"] > 0).all()
    whole = measured[(measured["variant"] == WHOLE) & (measured["spread"] <= 10)]
    assert (whole[["speedup", "speedup_low", "speedup_high"]] == 0).all(axis=None)
    assert set(measured["unit"]) == {"examples"}
    assert set(measured["n"]) == {5}
    # The order by importance takes layers from the first on: six of the twelve heads, which the weights then lack.
    assert measured.loc[measured["variant"] == IMPORTANCE, "heads"].tolist() == [6, 6]
    sizes = measured[measured["batch"] == 1].set_index("variant")["parameters"]
    assert sizes[WHOLE] == sum(weights.numel() for weights in tiny("bert_classifier").parameters())
    assert sizes[WHOLE] - sizes[IMPORTANCE] == 6 * (4 * 4 * 16 + 3 * 4)
    with pytest.raises(AtlasError, match="5 examples fill no batch of 6, 9"):
        times(batches=[6, 9])
    shown = table4(measured)
    assert list(shown.frame.columns) == TABLE4
    # All eight published speeds: the full model and the least important half of its heads, at four batch sizes.
    rows = shown.frame.set_index(["batch", "variant"])
    assert rows.loc[(1, IMPORTANCE), "published_speedup"] == 1.9
    speeds = rows["published_examples_per_second"].dropna().to_dict()
    assert speeds == {(1, WHOLE): 17.0, (1, IMPORTANCE): 17.3, (4, WHOLE): 67.3, (4, IMPORTANCE): 69.1}
    assert "published_speedup" in shown.names


def test_a_batch_size_at_which_the_whole_model_varies_is_unstable(times, monkeypatch):
    """The full model's slowest pass takes 11 % longer than its fastest for batches of one, and 9 % for batches of four."""

    def timed(models, inputs, examples, repeats):
        fastest = 111.0 if len(inputs) == 5 else 109.0
        return {name: np.array([100.0, fastest]) * (1 if name == WHOLE else 1.2) for name in models}

    monkeypatch.setattr(experiments, "timed", timed)
    by_batch = dict(list(times().groupby("batch")))
    assert by_batch[1]["spread"].tolist() == pytest.approx([11] * len(VARIANTS))
    assert by_batch[1][["speedup", "speedup_low", "speedup_high"]].isna().all(axis=None)
    assert by_batch[1]["examples_per_second"].notna().all()
    assert by_batch[4]["speedup"].tolist() == pytest.approx([0, 20])


def test_speedup_is_a_mean_of_ratios_with_an_interval_over_repeats():
    baseline, speeds = np.array([100.0, 104.0, 98.0]), np.array([120.0, 130.0, 118.0])
    row = experiments.speedup(speeds, baseline)
    ratios = np.log(speeds / baseline)
    interval = ttest_1samp(ratios, 0).confidence_interval(0.95)
    assert row["speedup"] == pytest.approx(100 * (np.exp(ratios.mean()) - 1))
    assert (row["speedup_low"], row["speedup_high"]) == pytest.approx(
        (100 * np.expm1(interval.low), 100 * np.expm1(interval.high))
    )
    assert np.isnan(experiments.speedup(speeds[:1], baseline[:1])["speedup_low"]), "one repeat has no interval"
    unstable = experiments.speedup(speeds, np.array([100.0, 111.0, 105.0]))
    assert np.isnan(unstable["speedup"]), "the full model's slowest pass takes 11 % longer than its fastest"
    assert unstable["examples_per_second"] == pytest.approx(speeds.mean())
    assert experiments.spread(np.array([100.0, 109.0])) == pytest.approx(9)


def test_models_take_turns_after_each_has_seen_every_shape():
    calls = []

    def model(name):
        return lambda input_ids: calls.append((name, tuple(input_ids.shape)))

    inputs = [{"input_ids": torch.zeros(shape)} for shape in ((2, 5), (2, 4), (2, 5), (1, 3))]
    shapes = [(2, 5), (2, 4), (2, 5), (1, 3)]
    speeds = experiments.timed({"a": model("a"), "b": model("b")}, inputs, 7, 3)
    seen = [(name, shape) for name in "ab" for shape in ((2, 5), (2, 4), (1, 3))]
    assert calls[:6] == seen
    assert calls[6:] == [(name, shape) for name in ("a", "b", "b", "a", "a", "b") for shape in shapes]
    assert {name: len(values) for name, values in speeds.items()} == {"a": 3, "b": 3}


@pytest.fixture
def classifier():
    """An experiment with a small classifier."""
    model = installed("bert_classifier").requires_grad_(False)
    model.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
    return Classification(model, PAD)


def test_a_classifier_answers_with_each_head_masked_and_each_alone_in_its_layer(classifier):
    table, second = list(experiments.masked(classifier, EXAMPLES[:4], EXAMPLES).values())[:2]
    assert list(table.columns) == list(second.columns) == [*KEYS, *ANSWERS]
    assert (len(table), len(second)) == (4 * (1 + 2 * LAYERS * HEADS), 7 * (1 + LAYERS * HEADS))
    keys, labels = ["masked", "layer", "head"], ["no", "yes", "maybe"]
    for key, plan in ((("one", 3, 2), Plan().zero(2, 1)), (("others", 1, 4), Plan().zero(0, [0, 1, 2]))):
        masked_rows = table[(table[keys] == list(key)).all(axis=1)]
        with watch(classifier.model, plan=plan):
            assert masked_rows["answer"].tolist() == predicted(logits(classifier.model, EXAMPLES[:4], PAD), labels, False)
    heldout = experiments.masked(classifier, EXAMPLES[:4], EXAMPLES, EXAMPLES)["further_answers"]
    assert len(heldout) == 7 * (1 + LAYERS * HEADS), "each head left alone, and the full model"
    shared = heldout[heldout["record"] < 4].merge(table, on=[*KEYS, "record"])
    assert (shared["answer_x"] == shared["answer_y"]).all(), "the same masks as in the first table"
    classifier.model.config.id2label = {0: "no", 1: "never", 2: "maybe"}
    with pytest.raises(AtlasError, match="knows the labels no, never, maybe, but the corpus has maybe, no, yes"):
        experiments.masked(classifier, EXAMPLES[:4], EXAMPLES)


def test_pruning_has_the_steps_of_all_curves(classifier):
    answers = experiments.masked(classifier, EXAMPLES, EXAMPLES)["answers"]
    pruning = {"step": 50, "classification_step": 25, "random_orders": 2}
    tables = experiments.pruned(classifier, EXAMPLES, EXAMPLES, answers, PAPER, 4, pruning, 0)
    derivatives = head_gradients(classifier, EXAMPLES)
    pd.testing.assert_frame_equal(tables["derivatives"], gradient_rows(derivatives, [one.record for one in EXAMPLES]))
    table = tables["answers"]
    assert list(table.columns) == [*STEP, *ANSWERS]
    # Each curve has five steps of all examples.
    assert len(table) == 6 * 5 * len(EXAMPLES)
    assert list(table["order"].unique()) == ["importance", "ablation", "ablation_heldout", "random", "recomputed"]
