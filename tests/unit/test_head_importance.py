"""Importance of heads and pruning: derivatives, definitions, orders, steps, heads cut out; against loops and differences."""

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_models import HEADS, LAYERS, PAD, batch_for, installed, main_output, run, tiny

from attention_atlas.attention.batches import model_inputs
from attention_atlas.attention.engine import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, attention_shape, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_parquet
from attention_atlas.methods import masked_heads
from attention_atlas.methods.head_measures import CLASSIFICATION, CODE, HEAD, KEYS, PAPER, PER_BATCH, SCRIPT, TRANSLATION
from attention_atlas.methods.importance import Derivatives, importance, normalised, read_derivatives, unnormalised
from attention_atlas.models.card import ModelCard
from attention_atlas.models.head_weights import prune_heads as cut_heads
from attention_atlas.models.task_heads import logits, predicted, target_loss
from attention_atlas.studies.michel2019 import experiments
from attention_atlas.studies.michel2019.effects import IMPORTANCE, WHOLE, head_importance, masked_scores
from attention_atlas.studies.michel2019.experiments import Classification, speedup, timing
from attention_atlas.studies.michel2019.tables import table4


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


@pytest.fixture
def classifier():
    model = installed("bert_classifier").requires_grad_(False)
    model.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
    return Classification(model, PAD)


@pytest.fixture(params=["bert_classifier", "marian"])
def experiment(request, classifier):
    return TinyTranslation() if request.param == "marian" else classifier


def loss_of(experiment, examples, plan=None):
    """Loss of examples in one batch."""
    inputs = model_inputs(experiment.model, examples, PAD)
    with torch.no_grad(), watch(experiment.model, plan=plan) as session:
        session.batch(inputs["attention_mask"])
        return float(experiment.loss(inputs, examples))


def slope(experiment, one, heads, place, plan):
    """The derivative of the loss of one example by a gate, by two losses."""
    kind, layer, head = heads.loc[place, HEAD]
    losses, step = [], 0.02
    for sign in (1, -1):
        gates = torch.ones(attention_shape(experiment.model)[masked_heads.KINDS[kind]])
        gates[layer - 1, head - 1] += sign * step
        losses.append(loss_of(experiment, [one], plan.gated(gates, masked_heads.KINDS[kind])))
    return pytest.approx((losses[0] - losses[1]) / (2 * step), abs=3e-3, rel=0.02)


def test_derivatives_are_those_of_each_example_by_itself(experiment, monkeypatch):
    derivatives = masked_heads.head_gradients(experiment, EXAMPLES)
    monkeypatch.setattr(masked_heads, "GRADIENT_TOKENS", 10)
    small = masked_heads.head_gradients(experiment, EXAMPLES)
    assert small.gradient == pytest.approx(derivatives.gradient, abs=2e-5)
    assert small.by_position == pytest.approx(derivatives.by_position, abs=2e-5)
    heads = derivatives.heads
    if experiment.name == CLASSIFICATION:
        only_the_first = heads["layer"] == heads["layer"].max()
        assert (derivatives.positions == np.where(only_the_first, 1, [[len(one.input_ids)] for one in EXAMPLES])).all()
    for place in (0, 3, len(heads) - 1):
        assert derivatives.gradient[1, place] == slope(experiment, EXAMPLES[1], heads, place, Plan())
    plan = masked_heads.plan_without(heads.iloc[[1, 5]])
    masked = masked_heads.head_gradients(experiment, EXAMPLES, plan).gradient
    assert (masked[:, [1, 5]] == 0).all(), "masked heads have no derivative, and others that of the changed model"
    assert masked[1, 2] == slope(experiment, EXAMPLES[1], heads, 2, plan)


def test_the_loss_of_translations_is_the_sum_over_tokens_one_after_the_other():
    experiment, total = TinyTranslation(), 0.0
    model = experiment.model
    for one in EXAMPLES[:3]:
        previous = [model.config.decoder_start_token_id]
        for piece in experiment.pieces(one):
            with torch.no_grad():
                ids = {"input_ids": torch.tensor([one.input_ids]), "decoder_input_ids": torch.tensor([previous])}
                total -= float(model(**ids).logits[0, -1].log_softmax(-1)[piece])
            previous.append(piece)
    assert loss_of(experiment, EXAMPLES[:3]) == pytest.approx(total, rel=1e-5)
    experiment.loss = lambda inputs, batch: target_loss(model, inputs, [[5, 2]] * len(batch)) * float("nan")
    with pytest.raises(AtlasError, match="the loss is not finite for a batch with example"):
        masked_heads.head_gradients(experiment, EXAMPLES)


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
    values = np.asarray([3.0, 0, 4, 0, 0, 0])
    assert normalised(values, of.heads).tolist() == [0.6, 0, 0.8, 0, 0, 0], "norm 1 in each layer"


def test_the_table_of_importance_has_intervals_for_means_over_examples():
    of = random_derivatives()
    table = head_importance(CLASSIFICATION, of, 4, 200, 0)["head_importance"]
    paper = table[table["definition"] == PAPER]
    # A slow bootstrap: resampled examples, their mean magnitudes, and the norm of each layer.
    drawn = np.random.default_rng(1).integers(0, 11, (2000, 11))
    means = np.abs(of.gradient)[drawn].mean(axis=1).reshape(-1, 2, 3)
    slow = np.quantile(means / np.linalg.norm(means, axis=2, keepdims=True), [0.025, 0.975], axis=0).reshape(2, 6)
    assert pytest.approx(slow, abs=0.06) == paper[["ci_low", "ci_high"]].to_numpy().T
    assert table.loc[table["definition"] == SCRIPT, "ci_low"].isna().all()


def test_steps_round_as_the_published_code_and_orders_keep_that_of_ties():
    assert [count for _, count in masked_heads.steps(144, 5, CLASSIFICATION)][:9] == [0, 7, 14, 21, 28, 36, 43, 50, 57]
    assert masked_heads.steps(96, 10, TRANSLATION)[1:3] == [(10, 10), (20, 20)]
    assert masked_heads.ascending([2, -1, 2, -1, 0]) == [1, 3, 4, 0, 2]
    assert masked_heads.next_places([2, -1, 2, -1, 0], [0], 3) == [0, 1, 3]


CUTS = {
    "bert": {(ENCODER_SELF, 1): [2, 4], (ENCODER_SELF, 2): [1, 2, 3, 4], (ENCODER_SELF, 3): [1]},
    "marian": {(ENCODER_SELF, 1): [2], (DECODER_SELF, 2): [1, 3], (DECODER_CROSS, 1): [4], (DECODER_CROSS, 2): [1, 2, 3, 4]},
}


@pytest.mark.parametrize("name", CUTS)
def test_heads_cut_out_are_heads_masked(name):
    plan, cuts, batch = Plan(), CUTS[name], batch_for(name)
    for (site, layer), heads in cuts.items():
        plan = plan.zero(layer, heads, site)
    masked = main_output(run(installed(name), batch, plan=plan))
    model = tiny(name)
    before = sum(weights.numel() for weights in model.parameters())
    cut_heads(model, cuts)
    model.set_attn_implementation("sdpa")
    with torch.no_grad():
        pruned = main_output(model(**batch))
    real = batch.get("decoder_attention_mask", batch["attention_mask"]).bool()
    assert float((masked - pruned)[real].abs().max()) < 1e-5
    # Of each head its rows of three projections with biases, and its columns of the fourth.
    gone = sum(len(heads) for heads in cuts.values()) * (4 * 4 * 16 + 3 * 4)
    assert before - sum(weights.numel() for weights in model.parameters()) == gone


def test_a_classifier_answers_with_each_head_masked_and_each_alone_in_its_layer(classifier):
    table, _, further = experiments.masked(classifier, EXAMPLES[:4], EXAMPLES, EXAMPLES).values()
    assert (len(table), len(further)) == (4 * (1 + 2 * LAYERS * HEADS), 7 * (1 + LAYERS * HEADS))
    keys, labels = ["masked", "layer", "head"], ["no", "yes", "maybe"]
    for key, plan in ((("one", 3, 2), Plan().zero(3, 2)), (("others", 1, 4), Plan().zero(1, [1, 2, 3]))):
        masked_rows = table[(table[keys] == list(key)).all(axis=1)]
        with watch(classifier.model, plan=plan):
            assert masked_rows["answer"].tolist() == predicted(logits(classifier.model, EXAMPLES[:4], PAD), labels, False)
    shared = further[further["record"] < 4].merge(table, on=[*KEYS, "record"])
    assert (shared["answer_x"] == shared["answer_y"]).all(), "the same masks as in the first table"
    classifier.model.config.id2label = {0: "no", 1: "never", 2: "maybe"}
    with pytest.raises(AtlasError, match="knows the labels no, never, maybe"):
        experiments.masked(classifier, EXAMPLES[:4], EXAMPLES)


def test_half_of_the_heads_are_pruned_and_timed_in_the_same_passes(classifier, monkeypatch):
    card = ModelCard("tiny", "made up", "bert", 3, 4, 40, "c", "s", PAD, "", "random", 0, "float32")
    heads = masked_heads.heads_of({ENCODER_SELF: (LAYERS, HEADS)})
    heads = heads.assign(task=CLASSIFICATION, definition=PAPER, importance=range(12))

    def timed(models, inputs, examples, repeats):
        layers = models[IMPORTANCE].bert.encoder.layer
        assert [layer.attention.self.query.out_features for layer in layers] == [0, 8, 16], "the least important heads are gone"
        return {name: np.array([100.0, 250.0]) * (1 if name == WHOLE else 1.2) for name in models}

    monkeypatch.setattr(experiments, "timed", timed)
    rows = timing(classifier.model, card, EXAMPLES[:5], heads, PAPER, {"batches": [1, 4, 6], "repeats": 2})
    assert rows[["batch", "heads"]].to_numpy().tolist() == [[1, 12], [1, 6], [4, 12], [4, 6]]
    assert rows["speedup"].tolist() == pytest.approx([0, 20, 0, 20])
    assert table4(rows).page["variant"].tolist() == ["full model", "least important heads pruned"] * 2


@pytest.mark.parametrize(("percent", "passes", "least", "most"), [(0, 3, 0, 0.07), (0, 10, 0, 0.07), (20, 10, 0.9, 1)])
def test_a_speedup_is_found_on_a_busy_machine_and_none_where_there_is_none(percent, passes, least, most):
    generator, excluded = np.random.default_rng(percent), 0
    for _ in range(1000):
        # Other work slows the machine over several passes, and the pass of one of the models.
        lasting, single = generator.normal(0, 0.1, passes).cumsum(), generator.exponential(0.05, (2, passes))
        whole, pruned = 100 * np.exp(-lasting - single - 0.3 * (generator.random((2, passes)) < 0.1))
        row = speedup(pruned * (1 + percent / 100), whole)
        excluded += row["speedup_low"] > 0 or row["speedup_high"] < 0
    print(f"{percent} %, {passes} passes: {excluded} of 1000")
    assert least <= excluded / 1000 <= most


def test_pruning_follows_each_order(classifier, tmp_path):
    answers = experiments.masked(classifier, EXAMPLES, EXAMPLES)["answers"]
    pruning = {"step": 50, "classification_step": 25, "random_orders": 2}
    tables = experiments.pruned(classifier, EXAMPLES, EXAMPLES, answers, PAPER, 4, pruning, 0)
    write_parquet(tables["derivatives"], tmp_path / "derivatives.parquet")
    derivatives = read_derivatives(tmp_path / "derivatives.parquet")
    assert derivatives.gradient == pytest.approx(masked_heads.head_gradients(classifier, EXAMPLES).gradient, rel=1e-4)
    table = tables["answers"].set_index(["order", "draw", "percent"])

    def at(order, percent):
        return table.loc[(order, 0, percent), "answer"].tolist()

    def without(places):
        return classifier.answers(EXAMPLES, [masked_heads.plan_without(derivatives.heads.iloc[places])])[1]

    least = masked_heads.ascending(importance(derivatives, PAPER, 4))
    assert at("importance", 25) == at("recomputed", 25) == without(least[:3])
    assert at("importance", 75) == without(least[:9])
    without_least = masked_heads.plan_without(derivatives.heads.iloc[least[:3]])
    left = importance(masked_heads.head_gradients(classifier, EXAMPLES, without_least), PAPER, 4)
    assert at("recomputed", 50) == without(masked_heads.next_places(left, least[:3], 6))
    single = masked_scores(answers, KEYS, CLASSIFICATION).masking("one")
    assert at("ablation", 50) == without(masked_heads.ascending(-single.deltas)[:6])
    for half in (0, 1):
        other = single.of_examples(np.arange(7) % 2 != half)
        assert at("ablation_heldout", 50)[half::2] == without(masked_heads.ascending(-other.deltas)[:6])[half::2]
