"""What intervals and folds resample: documents where the corpus names them, from the reader to the tables."""

import numpy as np
import pytest
from clark_inputs import RESAMPLING, make_gold, random_scores, row_of
from small_shards import write_example_shards

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.conllu import read_conllu
from attention_atlas.methods.head_tables import DOCUMENTS, independent_units, mean_rows
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.stats.held_out import best_head, folds_of
from attention_atlas.stats.intervals import bootstrap_ratio
from attention_atlas.studies.clark2019.surface import summed_divergences
from attention_atlas.studies.clark2019.syntax import relations_frame

WORD = "1\tgo\tgo\tX\t_\t_\t0\troot\t_\t_\n\n"


def test_sentences_belong_to_the_last_document_that_was_opened(tmp_path):
    path = tmp_path / "t.conllu"
    # The second comment stands before a block without words, the third has no id.
    path.write_text(
        f"{WORD}# newdoc id = a b \n# sent_id = x\n{WORD}{WORD}# newdoc id = c\n\n# newdocument = no\n{WORD}# newdoc\n{WORD}"
    )
    documents = [None, "a b", "a b", "c", "document 3"]
    assert [tree.document for tree in read_conllu(path)] == documents


def test_intervals_over_documents_cover_where_those_over_segments_do_not():
    """Segments of one document are alike: of 60 samples with mean 0, an interval must contain 0 in about 95 %."""
    covered = {DOCUMENTS: 0, "segments": 0}
    for seed in range(60):
        generator = np.random.default_rng(seed)
        values = np.repeat(generator.normal(size=30), 6) + 0.5 * generator.normal(size=180)
        by_document = independent_units([str(k // 6) for k in range(180)], "segments")
        for units in (by_document, independent_units([None] * 180, "segments")):
            (row,) = mean_rows(values[:, None, None], 100, seed, units).itertuples()
            covered[units.name] += row.ci_low <= 0 <= row.ci_high
    assert covered[DOCUMENTS] > 50  # a binomial variable of 60 and .95 falls to 50 about once in a thousand
    assert covered["segments"] < 45


def test_an_item_without_a_value_for_one_head_counts_for_the_others():
    """Every head is that of a table of its own, without the items that it has no value of."""
    values = np.random.default_rng(0).normal(size=(12, 1, 3))
    values[[0, 3], 0, 0] = values[2] = values[:, 0, 2] = np.nan
    units = independent_units([str(k // 2) for k in range(12)], "sentences")
    table = mean_rows(values, 50, 0, units).set_index("head")
    for head, present in enumerate(~np.isnan(values[:, 0].T), start=1):
        expected = values[present, 0, head - 1]
        assert table.loc[head, "n"] == len(expected)
        if len(expected):
            # The bootstrap draws units of all items with a value for some head.
            sums, sizes = (
                units.at(~np.isnan(values).all(axis=(1, 2))).sums(np.delete(of, 2))
                for of in (np.where(present, values[:, 0, head - 1], 0), present)
            )
            low, high = bootstrap_ratio(sums[:, None], sizes[:, None], 50, 0)
            assert table.loc[head, ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([expected.mean(), low[0], high[0]])
    assert table.loc[3, ["value", "ci_low"]].isna().all()


def test_relations_are_chosen_and_resampled_by_document():
    gold = make_gold(24, 6, ["det", "dobj"])
    gold = type(gold)(**{**vars(gold), "documents": tuple(f"d{k // 4}" for k in range(24))})
    scores = random_scores(gold)
    row = row_of(relations_frame(scores, gold, AS_PUBLISHED, 1, RESAMPLING), "det")
    document = gold.sentence // 4
    fold = folds_of(6, RESAMPLING.folds, RESAMPLING.seed)[document]
    chosen = gold.relation == "det"
    right = scores.heads[chosen]
    heldout_right = np.zeros(len(right), bool)
    for number in set(fold.tolist()):
        inside = fold[chosen] == number
        heldout_right[inside] = right[inside][(slice(None), *best_head(right[~inside].sum(axis=0)))]
    assert row["heldout_accuracy"] == pytest.approx(heldout_right.mean())
    sums = [[heldout_right[document[chosen] == d].sum(), (document[chosen] == d).sum()] for d in range(6)]
    low, high = bootstrap_ratio(*np.array(sums, float).T[:, :, None], RESAMPLING.resamples, RESAMPLING.seed)
    assert (row["heldout_ci_low"], row["heldout_ci_high"]) == pytest.approx((low[0], high[0]))
    assert (row["unit"], row["units"]) == (DOCUMENTS, 6)


def test_no_document_is_in_two_groups_of_segments(tmp_path):
    sizes = [3, 4, 5, 6, 7, 8]
    shards, _ = write_example_shards(tmp_path, sizes, 2, 2, documents=["a", "a", "b", "b", "c", "c"])
    for blocks, tokens, unit in ((5, [7, 11, 15], DOCUMENTS), (2, [22, 11], "groups of documents")):
        _, summed, name = summed_divergences(read_attention(shards), list(read_attention(shards)), 0.001, blocks, 1)
        assert (summed.tolist(), name) == (tokens, unit)
