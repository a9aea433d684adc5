"""The tables over relations: held-out choice, intervals, tests, options and no-op heads, against slow loops."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from clark_inputs import RESAMPLING, SHAPE, make_gold, random_scores, row_of
from small_shards import write_treebank
from statsmodels.stats.multitest import multipletests

from attention_atlas.attention.cache import StoredAttention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.methods.dependency_scoring import DIRECTIONS, score
from attention_atlas.methods.head_tables import DOCUMENTS
from attention_atlas.methods.options import AS_PUBLISHED, alternatives
from attention_atlas.models.card import read_card
from attention_atlas.stats.held_out import best_head, choosing_half, folds_of
from attention_atlas.stats.intervals import bootstrap_ratio
from attention_atlas.stats.simultaneous import random_exchanges
from attention_atlas.studies.clark2019.claims import noop_frame
from attention_atlas.studies.clark2019.syntax import dependencies, options_frame, relations_frame


def table_of(scores, gold):
    return relations_frame(scores, gold, AS_PUBLISHED, 1, RESAMPLING)


def in_documents(gold, sentences):
    """The same in documents of so many sentences; without documents for one."""
    return replace(gold, documents=tuple(f"d{k // sentences}" for k in range(len(gold.ids)))) if sentences > 1 else gold


def slow_heldout(right, fold):
    """Each fold is scored by the column that is best on all the others; [token, ...] -> list of outcomes."""
    outcomes = [None] * len(right)
    for number in sorted(set(fold.tolist())):
        elsewhere = [i for i in range(len(right)) if fold[i] != number]
        best = max((sum(right[i][c] for i in elsewhere), c) for c in range(len(right[0])))[1]
        for i in range(len(right)):
            if fold[i] == number:
                outcomes[i] = bool(right[i][best])
    return outcomes


@pytest.mark.parametrize("sentences_a_document", [1, 4])
def test_in_sample_and_heldout_accuracies_are_those_of_loops(sentences_a_document):
    gold = in_documents(make_gold(24, 6, ["det", "dobj"]), sentences_a_document)
    scores, units = random_scores(gold), 24 // sentences_a_document
    frame = table_of(scores, gold)
    fold_of_unit = folds_of(units, 5, 3)
    for row in frame.itertuples():
        chosen = (gold.relation == row.relation) | (row.relation == "all")
        unit = gold.sentence[chosen] // sentences_a_document
        # Columns in the order in which ties are broken: layer, head, direction; the first offset wins a tie.
        heads = np.moveaxis(scores.heads[chosen], 1, -1).reshape(chosen.sum(), -1)
        fold = fold_of_unit[unit]
        held = slow_heldout(heads.tolist(), fold)
        assert row.heldout_accuracy == pytest.approx(np.mean(held))
        assert row.heldout_baseline == pytest.approx(np.mean(slow_heldout(scores.offsets[chosen][:, ::-1].tolist(), fold)))
        counts, offsets = scores.heads[chosen].sum(axis=0), scores.offsets[chosen].mean(axis=0)
        direction, layer, head = best_head(counts)
        assert (row.layer, row.head, row.direction) == (layer + 1, head + 1, DIRECTIONS[direction])
        assert (row.n, row.accuracy) == (chosen.sum(), counts.max() / chosen.sum())
        assert (row.baseline_accuracy, row.baseline_offset) == (offsets.max(), AS_PUBLISHED.offsets[offsets.argmax()])
        right = scores.heads[chosen, direction, layer, head].astype(float)
        margin = right - scores.offsets[chosen, offsets.argmax()]
        assert row.margin == pytest.approx(margin.mean())
        sizes = np.bincount(unit, minlength=units).astype(float)
        assert (row.unit, row.units) == ("sentences" if sentences_a_document == 1 else DOCUMENTS, (sizes > 0).sum())
        # The best of the other heads, whatever the direction of the first.
        others = [(counts[d, a, b], a, b, d) for d, a, b in np.ndindex(SHAPE) if (a, b) != (layer, head)]
        hits, a, b, d = max(others)
        assert (row.runner_up, row.runner_up_direction) == (f"{a + 1}-{b + 1}", DIRECTIONS[d])
        assert (row.runner_up_accuracy, row.gap) == pytest.approx((hits / row.n, row.accuracy - hits / row.n))
        gap = right - scores.heads[chosen, d, a, b]
        intervals = {"accuracy_ci": right, "heldout_ci": np.array(held, float), "margin_ci": margin, "gap_ci": gap}
        for name, values in intervals.items():
            ends = bootstrap_ratio(np.bincount(unit, values, minlength=units), sizes, 200, 3)
            assert [getattr(row, f"{name}_low"), getattr(row, f"{name}_high")] == pytest.approx([float(end) for end in ends]), (
                name
            )


@pytest.mark.parametrize("sentences_a_document", [1, 4])
def test_head_and_offset_are_chosen_on_one_half_and_tested_on_the_other(sentences_a_document):
    gold = in_documents(make_gold(48, 7, ["det", "det", "dobj", "amod"], seed=5), sentences_a_document)
    scores = random_scores(gold, seed=5)
    scores.heads[(gold.relation == "dobj") & (np.arange(len(gold)) % 6 > 0), 1, 0, 2] = True
    frame = table_of(scores, gold)
    units = 48 // sentences_a_document
    unit = gold.sentence // sentences_a_document
    choosing = choosing_half(units, RESAMPLING.seed)
    for row in frame.itertuples():
        words = [i for i in range(len(gold)) if row.relation in ("all", gold.relation[i])]
        half = {half: [i for i in words if choosing[unit[i]] == half] for half in (True, False)}
        # Ties go to the larger layer, head and direction, and to the first offset.
        hits = {
            (sum(scores.heads[i, d, layer, head] for i in half[True]), layer, head, d) for d, layer, head in np.ndindex(SHAPE)
        }
        _, layer, head, d = max(hits)
        counts = [sum(scores.offsets[i, k] for i in half[True]) for k in range(len(AS_PUBLISHED.offsets))]
        offset = counts.index(max(counts))
        by_unit = [0.0] * units
        for i in half[False]:
            by_unit[unit[i]] += float(scores.heads[i, d, layer, head]) - float(scores.offsets[i, offset])
        assert row.tested_margin == pytest.approx(sum(by_unit) / len(half[False]))
        tested = np.array(by_unit)[~choosing]
        null = [tested.sum() - 2 * (e @ tested) for e in random_exchanges(len(tested), 100 * len(frame), RESAMPLING.seed)]
        beyond = int((np.abs(np.concatenate(null)) >= abs(sum(by_unit))).sum())
        assert [row.p_value, row.smallest_p] == pytest.approx(np.array([1 + beyond, 1]) / (1 + 100 * len(frame)))
    np.testing.assert_allclose(frame["p_holm"], multipletests(frame["p_value"], method="holm")[1])
    # Of six documents, exchanges have no p below 2 / 64.
    assert (row_of(frame, "dobj")["p_holm"] < 0.05) == (sentences_a_document == 1)


def test_options_are_scored_one_at_a_time():
    gold = make_gold(40, 5, ["det", "poss"])
    generator, modes = np.random.default_rng(0), ("mean", "first", "max")
    predictions = {mode: generator.integers(1, 6, (len(gold), *SHAPE)).astype(np.int16) for mode in modes}
    frame = options_frame(predictions, gold, 1)
    names = ["word_mode", "poss_in_all", "poss_rule", "all_tokens", "offsets", "offset_edges"]
    of = {(name, o.option_text(name)): o for name, o in alternatives() if name in names}
    of |= {(name, AS_PUBLISHED.option_text(name)): AS_PUBLISHED for name in names}
    assert set(zip(frame["option"], frame["setting"], strict=True)) == set(of)
    for row in frame.itertuples():
        options = of[row.option, row.setting]
        scores = score(predictions[options.word_mode], gold, options)
        heads, offsets = (right[gold.tokens_of(row.relation, options)] for right in scores.of(row.relation))
        best = heads[:, DIRECTIONS.index(row.direction), row.layer - 1, row.head - 1].mean()
        assert (row.n, row.accuracy) == (len(heads), heads.mean(axis=0).max())
        assert (row.accuracy, row.baseline_accuracy) == (best, offsets.mean(axis=0).max())
        assert row.baseline_accuracy == offsets[:, options.offsets.index(row.baseline_offset)].mean()


def test_attention_to_sep_where_a_relation_does_not_apply_is_that_of_a_loop():
    gold = make_gold(40, 6, ["det", "dobj", "amod"])
    to_sep, scores = np.random.default_rng(0).random((len(gold), *SHAPE[1:])).astype(np.float32), random_scores(gold)
    frame = noop_frame(to_sep, scores, gold, RESAMPLING)
    assert frame["relation"].tolist() == ["dobj", "det"]
    choosing = choosing_half(40, RESAMPLING.seed)[gold.sentence]
    directions = set()
    for row in frame.itertuples():
        direction, layer, head = best_head(scores.heads[(gold.relation == row.relation) & choosing].sum(axis=0))
        directions.add(DIRECTIONS[direction])
        queries = set()
        for i in np.flatnonzero(gold.relation == row.relation):
            queries.add(i if DIRECTIONS[direction] == "dependent_to_head" else i - gold.position[i] + gold.head[i])
        tested = np.flatnonzero(~choosing)
        inside, outside = ([i for i in tested if (i in queries) == is_query] for is_query in (True, False))
        mass = to_sep[:, layer, head]
        assert (row.value, row.applying) == pytest.approx((mass[outside].mean(), mass[inside].mean()))
        assert (row.level, row.n) == (0.975, len(outside))
    assert directions == set(DIRECTIONS), "both kinds of query are tested"
    assert noop_frame(to_sep * 0, scores, gold, RESAMPLING).empty, "a model without [SEP]"


@pytest.mark.parametrize("level", ["tokens", "words"])
def test_a_planted_head_is_found_from_the_cache(tmp_path, level):
    write_treebank(tmp_path, level=level, words=6)
    attention, examples = StoredAttention([tmp_path / "0.safetensors"], 10), all_examples([tmp_path / "0.parquet"], 10)
    settings = asdict(AS_PUBLISHED) | {"preset": "as_published"}
    card = read_card(tmp_path / "card.json")
    tables = dependencies(attention, examples, card, settings, {"det": [2, 1]}, 1, **vars(RESAMPLING))
    row = row_of(tables["dependencies"], "det")
    assert (row["n"], row["layer"], row["head"], row["direction"]) == (50, 2, 1, "dependent_to_head")
    assert row["accuracy"] == row["heldout_accuracy"] == 1
    assert row_of(tables["dependencies"], "all")["accuracy"] == pytest.approx(5 / 6)
    assert tables["noop"][["value", "applying"]].to_numpy().tolist() == [pytest.approx([0.7, 0.05], abs=1e-3)]
    # Figure 5 draws the head on two of the sentences.
    drawn = tables["drawn"].drop_duplicates("example")
    assert drawn[["relation", "layer", "head", "accuracy"]].to_numpy().tolist() == [["det", 2, 1, 1.0]] * 2
