"""Tables, figures and pages of Štefánik's study, from answers and attention made by hand."""

import importlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp
from text_boxes import words_in
from workspaces import ROOT

from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example, write_examples
from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_parquet, write_table
from attention_atlas.methods.names import ANSWERS
from attention_atlas.models.card import ModelCard, write_card
from attention_atlas.stats.simultaneous import adjusted_p, random_exchanges
from attention_atlas.studies.stefanik2021 import detection_pages, removal_pages
from attention_atlas.studies.stefanik2021.baselines import (
    BaselineOptions,
    Evaluated,
    Scores,
    _f1_by_number,
    _limited,
    baseline_rows,
    best_number,
    reference_method,
)
from attention_atlas.studies.stefanik2021.comparison import comparison
from attention_atlas.studies.stefanik2021.detection import detection_tables
from attention_atlas.studies.stefanik2021.documents import write_documents
from attention_atlas.studies.stefanik2021.extractors import MOST_PHRASES, OCCURRENCES
from attention_atlas.studies.stefanik2021.names import (
    ATTENTION_METHODS,
    DEVELOPMENT,
    F1_5,
    F1_10,
    F1_M,
    IMPORTANCE,
    METHOD_TITLES,
    ONE,
    OPTIMISTIC,
    PHRASE,
    PRUNED_ON_TEST,
    RANDOM,
    REGRESSION,
    REMOVED,
    TAGGER,
    TEST,
    TOKEN,
    WORST,
    feature,
)
from attention_atlas.studies.stefanik2021.pages import PAGES
from attention_atlas.studies.stefanik2021.phrases import agreement, phrase_counts, stems, token_counts
from attention_atlas.studies.stefanik2021.regression import Fit
from attention_atlas.studies.stefanik2021.removal_tables import (
    ablation_rows,
    best_count,
    fine_tuning_rows,
    read_removals,
    removal_tables,
)
from attention_atlas.studies.stefanik2021.views import MODEL_VIEW, view_rows
from attention_atlas.studies.stefanik2021.words import _frames, read_words

SETTING = RunLabel("Test run", "tiny", "documents", sample=True)
LAYERS, HEADS, DOCUMENTS = 2, 2, 8
ENCODER = "tiny, a sentence encoder"
FIGURES = [page.pictures for page in PAGES if page.pictures]


def drawing(name):
    """The function that draws a figure."""
    return getattr(importlib.import_module(f"attention_atlas.studies.stefanik2021.figures.{name}"), name)


def answers(seed, lost_without_heads=12):
    """Answers that get better without head 1-1, and worse without any other, on both parts; all of 12 wrong without heads."""
    chance = np.random.default_rng(seed)
    frames = []
    for split, records in ((DEVELOPMENT, range(4)), (TEST, range(4, 4 + DOCUMENTS))):
        gold = {record: "".join(chance.choice(list("BIOOO"), 12)) for record in records}
        gold = {record: "B" + tags[1:] for record, tags in gold.items()}

        def spoiled(tags, count):
            places = chance.choice(len(tags), count, replace=False)
            return "".join("O" if k in places else tag for k, tag in enumerate(tags))

        def rows(key, layer, head, count, gold=gold):
            columns = dict(zip(REMOVED, key, strict=True)) | {"layer": layer, "head": head}
            rows_of_key = [(record, spoiled(tags, count), tags) for record, tags in gold.items()]
            frames.append(pd.DataFrame(rows_of_key, columns=ANSWERS).assign(**columns))

        rows((split, ONE, 0, 0, 0), 0, 0, 5)
        for layer, head in np.ndindex(LAYERS, HEADS):
            rows((split, ONE, 0, 0, 1), layer + 1, head + 1, 1 if (layer, head) == (0, 0) else 9)
        orders = [(WORST, 0), (IMPORTANCE, 0)] + ([(OPTIMISTIC, 0), (RANDOM, 0), (RANDOM, 1)] if split == TEST else [])
        for order, draw in orders:
            for percent, count, lost in ((0, 0, 5), (25, 1, 1), (50, 2, 4), (100, 4, lost_without_heads)):
                rows((split, order, draw, percent, count), 0, 0, lost)
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="module")
def removals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("removals")
    files = {}
    for seed in (1, 2):
        files[str(seed)] = folder / f"{seed}.parquet"
        write_parquet(answers(seed), files[str(seed)])
    return files


def slow_f1(table, metric):
    count = token_counts if metric == TOKEN else phrase_counts
    right, answered, gold = np.sum([count(a, e) for a, e in zip(table["answer"], table["expected"], strict=True)], axis=0)
    return 100 * 2 * right / (answered + gold)


def test_scores_whole_pruned_and_chosen_on_test(removals):
    by_seed = {name: read_removals(path) for name, path in removals.items()}
    table = fine_tuning_rows(by_seed, 100, 0)
    raw = {name: pd.read_parquet(path) for name, path in removals.items()}
    for metric in (TOKEN, PHRASE):
        for name, answers in raw.items():
            of_test = answers[answers["split"] == TEST]
            whole = of_test[(of_test["order"] == ONE) & (of_test["count"] == 0)]
            row = table.query("seed == @name and model == 'whole' and split == @TEST and metric == @metric").iloc[0]
            assert row["value"] == pytest.approx(slow_f1(whole, metric))
            assert row["ci_low"] <= row["value"] <= row["ci_high"]
            best = best_count(by_seed[name], WORST, DEVELOPMENT)
            assert best == 1, "stopped where development is best"
            pruned = of_test[(of_test["order"] == WORST) & (of_test["count"] == best)]
            row = table.query("seed == @name and model == 'pruned' and split == @TEST and metric == @metric").iloc[0]
            assert (row["value"], row["heads_removed"]) == (pytest.approx(slow_f1(pruned, metric)), 1)
            assert row["delta"] == pytest.approx(slow_f1(pruned, metric) - slow_f1(whole, metric))
        mean = table.query("seed == 'mean' and model == 'pruned' and split == @TEST and metric == @metric").iloc[0]
        seeds = table.query("seed != 'mean' and model == 'pruned' and split == @TEST and metric == @metric")
        assert mean["value"] == pytest.approx(seeds["value"].mean())
        assert mean["documents"] == DOCUMENTS
    assert set(table[table["model"] == PRUNED_ON_TEST]["split"]) == {TEST}
    for name, answers in raw.items():
        for split in (DEVELOPMENT, TEST):
            without = answers[(answers["split"] == split) & (answers["order"] == WORST) & (answers["count"] == LAYERS * HEADS)]
            of_metric = table[(table["split"] == split) & (table["metric"] == TOKEN) & (table["seed"] == name)]
            row = of_metric[of_metric["model"] == "without_heads"].iloc[0]
            assert (row["value"], row["heads_removed"]) == (pytest.approx(slow_f1(without, TOKEN)), LAYERS * HEADS)


@pytest.mark.parametrize(("lost", "warned"), [(12, False), (10, False), (5, True), (1, True)])
def test_pages_warn_where_taggers_score_as_well_without_heads(tmp_path, lost, warned):
    """All taggers lose 5 of 12 words of a document with all heads."""
    files = {str(seed): tmp_path / f"{seed}.parquet" for seed in (1, 2, 3)}
    for seed, path in files.items():
        write_parquet(answers(int(seed), lost), path)
    names = ("fine_tuning", "ablation", "cumulative_ablation")
    tables = {name: tmp_path / f"{name}.tsv" for name in names}
    removal_tables(files, 200, 0, *tables.values())
    rows = read_table(tables["fine_tuning"])
    mean = rows.query("seed == 'mean' and model == 'without_heads' and split == @TEST and metric == @TOKEN").iloc[0]
    assert (mean["delta_high"] >= 0) == warned
    for name in names:
        paths = [tables[table] for table in dict.fromkeys((name, "fine_tuning"))]
        getattr(removal_pages, name)(*paths, SETTING, tmp_path / f"{name}.html")
        page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert ("removals are uninformative" in page) == warned
        assert (f"a difference of {mean['delta']:+.1f}" in page) == warned
        if name != "fine_tuning":
            drawing(name)(*paths, SETTING, {"svg": tmp_path / f"{name}.svg"})
            assert ("no significant loss with all heads removed" in words_in(tmp_path / f"{name}.svg")) == warned


def scores_without_heads(delta_low, delta_high):
    row = {"seed": "mean", "split": TEST, "metric": TOKEN, "value": 40.0, "documents": 14}
    row |= {"delta": (delta_low + delta_high) / 2, "delta_low": delta_low, "delta_high": delta_high}
    other = row | {"split": DEVELOPMENT, "delta_low": -9.0, "delta_high": -8.0}
    models = [("whole", row), ("without_heads", row), ("without_heads", other)]
    return pd.DataFrame([values | {"model": model} for model, values in models])


@pytest.mark.parametrize(("low", "high", "sentences"), [(-13.5, 13.8, 1), (-5.0, 0.0, 1), (2.0, 5.0, 1), (-5.0, -0.1, 0)])
def test_the_warning_is_that_of_the_interval_on_test_documents(low, high, sentences):
    warning = removal_pages.removal_warning(scores_without_heads(low, high))
    assert len(warning) == sentences
    assert all(f"{low:+.1f} to {high:+.1f}" in sentence for sentence in warning)


def test_ablation_against_sums_of_counts(removals):
    table = ablation_rows({name: read_removals(path) for name, path in removals.items()}, 200, 0)
    raw = pd.read_parquet(removals["1"])
    single = raw[(raw["split"] == TEST) & (raw["order"] == ONE)]
    base = slow_f1(single[single["layer"] == 0], TOKEN)
    for layer, head in np.ndindex(LAYERS, HEADS):
        without = single[(single["layer"] == layer + 1) & (single["head"] == head + 1)]
        key = "seed == '1' and split == @TEST and metric == @TOKEN and layer == @layer + 1 and head == @head + 1"
        row = table.query(key).iloc[0]
        assert row["value"] == pytest.approx(slow_f1(without, TOKEN))
        assert row["delta"] == pytest.approx(slow_f1(without, TOKEN) - base)
        assert row["p_adjusted"] >= row["p"]
    mean = table.query("seed == 'mean' and split == @TEST and metric == @TOKEN").set_index(["layer", "head"])
    assert mean.loc[(1, 1), "delta"] > 0
    assert mean.loc[(1, 1), "ci_low"] > 0
    assert (mean["delta"].drop((1, 1)) < 0).all()


def test_removals_are_tested_by_exchanged_documents_in_all_seeds_alike(removals):
    by_seed = {name: read_removals(path) for name, path in removals.items()}
    table = ablation_rows(by_seed, 120, 5)
    exchanges = np.concatenate(list(random_exchanges(DOCUMENTS, 120, 5)))
    null = []
    for seed in by_seed.values():
        parts = seed.parts(TOKEN, seed.places(order=ONE, split=TEST))
        for draw in exchanges:
            exchanged = draw[:, None] == 1
            for head in parts[1:]:
                without, whole = np.where(exchanged, parts[0], head), np.where(exchanged, head, parts[0])
                scores = [200 * right / (answered + expected) for right, answered, expected in (without.sum(0), whole.sum(0))]
                null.append(scores[0] - scores[1])
    by_draw = np.reshape(null, (len(by_seed), 120, LAYERS * HEADS))
    for name, draws in [*zip(by_seed, by_draw, strict=True), ("mean", by_draw.mean(axis=0))]:
        rows = table[(table["seed"] == name) & (table["split"] == TEST) & (table["metric"] == TOKEN)]
        delta = rows["delta"].to_numpy()
        slow = (1 + (np.abs(draws) >= np.abs(delta) - 1e-9).sum(axis=0)) / 121
        assert rows["p"].to_numpy() == pytest.approx(slow)
        assert rows["p_adjusted"].to_numpy() == pytest.approx(adjusted_p(delta, draws.T))


def test_the_number_of_phrases_is_that_of_the_best_mean():
    gold = [{("a",), ("b",)}, {("c",)}]
    assert best_number([[("a",), ("b",), ("x",)], [("c",), ("y",)]], gold) == 1
    assert best_number([[("a",), ("b",), ("x",)], [("y",), ("c",)]], gold) == 2
    many = [(letter * size,) for size in range(1, 4) for letter in "abcdefghijklmnopqrstuvwxyz"]
    assert best_number([many], [set(many[:50])]) == 50
    assert best_number([many], [set(many)]) == MOST_PHRASES == 60, "the limit"


def test_f1_of_first_phrases_is_that_of_one_number_at_a_time():
    """Phrases of equal stems count once; a ranking may be shorter than the number."""
    ranked = [("models",), ("model",), ("attention", "heads"), ("x",), ("heads",)]
    gold = {stems(phrase) for phrase in (("model",), ("heads",), ("y",))}
    slow = [agreement(ranked, gold, number)[2] for number in range(1, MOST_PHRASES + 1)]
    assert _f1_by_number(ranked, gold).tolist() == pytest.approx(slow)
    assert not _f1_by_number([], gold).any()


def test_methods_at_the_limit_are_named():
    evaluated = evaluated_methods()
    assert _limited(evaluated) == []
    limited = evaluated | {REGRESSION: replace(evaluated[REGRESSION], count=MOST_PHRASES)}
    assert _limited(limited) == [f"More than 60 phrases might score better: {METHOD_TITLES[REGRESSION]}."]


def cached(record, size):
    chance = np.random.default_rng(record)
    maps = chance.random((LAYERS, HEADS, size + 2, size + 2)).astype(np.float16)
    word = (-1, *range(size), -1)
    return CachedExample(record, f"d{record}", "tokens", ("t",) * (size + 2), word, ("w",) * size, maps)


def tagged(record, size):
    tags = tuple("BIO"[(record + k) % 3] for k in range(size))
    word = (-1, *range(size), -1)
    phrases = (Keyphrase("w w", True), Keyphrase("x", False))
    ids = (0,) * (size + 2)
    return Example(record, f"d{record}", ids, ids, ("t",) * (size + 2), word, ("w",) * size, {"tags": tags}, keyphrases=phrases)


PAIR = Example(
    0, "a b / c", (0,) * 6, (0,) * 6, ("[CLS]", "a", "b", "[SEP]", "c", "[SEP]"), (-1, 0, 1, -1, 2, -1), ("a", "b", "c")
)


def test_words_have_the_attention_that_they_receive(tmp_path):
    maps, examples = [cached(k, 4 + k) for k in range(3)], [tagged(k, 4 + k) for k in range(3)]
    write_parquet(pd.concat(_frames(maps, examples, diagonal=True)), tmp_path / "words.parquet")
    words, features = read_words(tmp_path / "words.parquet", LAYERS, HEADS, "max")
    assert len(words) == 4 + 5 + 6
    assert words["key"].tolist() == [tag != "O" for example in examples for tag in example.layers["tags"]]
    place = 4 + 2  # the third word of the second document
    assert features[place, 1, 0] == pytest.approx(maps[1].maps[1, 0, 1:6, 3].astype(float).max(), abs=1e-3)
    means = pd.read_parquet(tmp_path / "words.parquet")[feature(2, 1, "mean")]
    assert means[place] == pytest.approx(maps[1].maps[1, 0, 1:6, 3].astype(float).mean(), abs=1e-3)
    with pytest.raises(AtlasError, match="do not belong together"):
        list(_frames(maps[:1], [tagged(1, 4)], diagonal=True))


def evaluated_methods(change=None):
    """All methods with F1 of 8 test and 4 development documents by chance; `change` adds to a method's F1 on test documents."""
    chance = np.random.default_rng(3)
    evaluated = {}
    for method in METHOD_TITLES:
        scores = []
        for size in (4, 8):
            added = (change or {}).get(method, 0.0) if size == 8 else 0.0
            f1 = {metric: added + chance.uniform(20, 60, size) for metric in (F1_5, F1_10, F1_M)}
            right = chance.integers(0, 4, (2, size))
            scores.append(Scores(f1, np.stack([right, right + 2, right + 1], axis=-1).astype(float)))
        evaluated[method] = Evaluated(None if method == TAGGER else 3, None if method == TAGGER else scores[0], scores[1])
    return evaluated


def test_the_reference_is_chosen_on_development_documents_and_differences_are_paired():
    """Test scores choose no reference: a method that is best there alone does not become it."""
    chosen = reference_method(evaluated_methods())
    assert chosen not in (*ATTENTION_METHODS, TAGGER)
    other = next(name for name in METHOD_TITLES if name not in (*ATTENTION_METHODS, TAGGER, chosen))
    evaluated = evaluated_methods({other: 500.0, REGRESSION: 900.0})
    assert reference_method(evaluated) == chosen
    table = baseline_rows(evaluated, ENCODER, BaselineOptions(3, 100, 0)).query("metric == @F1_M").set_index("method")
    assert (table["reference"] == chosen).all()
    by_document = evaluated[REGRESSION].test.f1[F1_M] - evaluated[chosen].test.f1[F1_M]
    ends = ttest_1samp(by_document, 0).confidence_interval(0.95)
    row = table.loc[REGRESSION]
    assert [row["difference"], row["difference_low"], row["difference_high"]] == pytest.approx([by_document.mean(), *ends])
    assert row["development"] == pytest.approx(evaluated[REGRESSION].development.f1[F1_M].mean())
    assert (row["documents"], row["development_documents"]) == (8, 4)
    assert table.loc[chosen, "difference"] == 0
    assert np.isnan(table.loc[TAGGER, "development"])
    assert table["encoder"].dropna().to_dict() == {"embedding": ENCODER}


@pytest.fixture(scope="module")
def built(tmp_path_factory, removals):
    """All tables of the study."""
    folder = tmp_path_factory.mktemp("built")
    maps, examples = [cached(k, 20) for k in range(10)], [tagged(k, 20) for k in range(10)]
    write_parquet(pd.concat(_frames(maps, examples, diagonal=True)), folder / "words.parquet")
    card = ModelCard("tiny", "here", "bert", LAYERS, HEADS, 64, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")
    write_card(card, folder / "card.json")
    tables = ("relative_attention", "head_ranking", "logistic_regression", "detectors", "rank_correlations")
    named = {name: folder / f"{name}.tsv" for name in tables}
    fit = Fit(folds=3, l2_penalty=1.0, fits=10, permutations=1, seed=0)
    detection_tables(folder / "words.parquet", folder / "card.json", "max", fit, 100, named, folder / "s.parquet")
    detection_pages.head_ranking(named["head_ranking"], "max", SETTING, folder / "head_ranking.html")
    detection_pages.logistic_regression(named["logistic_regression"], SETTING, folder / "logistic_regression.html")
    detection_pages.detectors(named["detectors"], named["head_ranking"], SETTING, folder / "detectors.html")
    names = ("fine_tuning", "ablation", "cumulative_ablation")
    removal_tables(removals, 100, 0, *(folder / f"{name}.tsv" for name in names))
    for name in names:
        paths = [folder / f"{table}.tsv" for table in dict.fromkeys((name, "fine_tuning"))]
        getattr(removal_pages, name)(*paths, SETTING, folder / f"{name}.html")
    write_table(baseline_rows(evaluated_methods(), ENCODER, BaselineOptions(3, 100, 0)), folder / "baselines.tsv")
    maps = np.full((LAYERS, HEADS, 6, 6), 1 / 6, np.float16)
    write_table(view_rows(("a b", "c"), PAIR, maps)[MODEL_VIEW], folder / "model_view.tsv")
    return folder


def test_every_figure_is_drawn_and_is_the_same_again(built, tmp_path):
    for name in FIGURES:
        for number in (1, 2):
            tables = [name, "fine_tuning"] if "ablation" in name else [name]
            paths = [built / f"{table}.tsv" for table in tables]
            encoder = [True] if name == "baselines" else []
            drawing(name)(*paths, *encoder, SETTING, {"svg": tmp_path / f"{name}{number}.svg"})
        first, second = ((tmp_path / f"{name}{number}.svg").read_bytes() for number in (1, 2))
        assert first == second
        assert len(first) > 5000
        assert "generated text" in words_in(tmp_path / f"{name}1.svg")


def test_figures_need_no_torch():
    names = (*(f"figures.{name}" for name in FIGURES), "comparison")
    modules = ", ".join(f"attention_atlas.studies.stefanik2021.{name}" for name in names)
    code = (
        f"import sys; sys.path.insert(0, 'workflow/lib'); import {modules}; "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_no_published_value_is_compared_and_every_claim_has_a_verdict(built, tmp_path):
    names = ("relative_attention", "head_ranking", "detectors", "fine_tuning", "ablation", "baselines", "rank_correlations")
    inputs = {name: built / f"{name}.tsv" for name in names}
    outs = [tmp_path / name for name in ("c.tsv", "c.html", "claims.tsv", "claims.html")]
    comparison(inputs, SETTING, SETTING, *outs)
    table = pd.read_csv(outs[0], sep="\t").set_index("id")
    assert len(table) == 13
    assert set(table["verdict"]) == {"not comparable", "not computed"}
    fine = pd.read_csv(built / "fine_tuning.tsv", sep="\t")
    whole = fine.query("seed == 'mean' and model == 'whole' and split == 'test' and metric == 'token_f1'")["value"].iloc[0]
    assert float(table.loc["s21.f1", "ours"]) == pytest.approx(whole / 100, abs=1e-3)
    assert "corpus" in table.loc["s21.f1", "why"]
    # The slides count layers from 0: l_2 is the third, which this model lacks.
    assert table.loc["s21.entropy.l_2_h_0_max", "verdict"] == "not computed"
    claims = pd.read_csv(outs[2], sep="\t")
    assert len(claims) == 9
    baselines = pd.read_csv(built / "baselines.tsv", sep="\t")
    methods = baselines[baselines["metric"] == OCCURRENCES].set_index("method")["value"]
    # Whatever the slides' state of the art is, it is no value of a method that the run's own best one beats.
    assert float(table.loc["s21.sota", "ours"]) == pytest.approx(methods.max() / 100, abs=1e-3)
    assert METHOD_TITLES[methods.idxmax()] in table.loc["s21.sota", "why"]
    assert set(claims["verdict"]) <= {"holds", "does not hold", "undecided"}
    assert (claims["unit"] == "documents").all()
    assert claims[["statistic", "value", "ci_low", "ci_high", "n"]].notna().all(axis=None)


def test_documents_are_counted(tmp_path):
    write_examples(tmp_path / "e.parquet", [tagged(0, 4), tagged(1, 5)])
    corpora = {"synthetic": [[tmp_path / "e.parquet"], [], 10]}
    write_documents(corpora, "Test run", tmp_path / "d.tsv", tmp_path / "d.html")
    row = pd.read_csv(tmp_path / "d.tsv", sep="\t").iloc[0]
    assert row["documents":"documents_without_present"].tolist() == [2, 9, 6, pytest.approx(6 / 9, abs=1e-5), 4, 2, 2, 4, 0]
    assert row["phrases_per_document"] == 2


def test_the_model_view_has_the_weights_of_each_head():
    maps = np.zeros((1, 2, 6, 6), np.float16)
    maps[0, 1, 2, :4] = [0.1234, 0.2, 0.3, 0.3766]
    table = view_rows(("a b", "c"), PAIR, maps)
    assert len(table) == 2 * 36
    row = table[(table["head"] == 2) & (table["query"] == 3)]
    assert row["weight"].tolist() == pytest.approx([0.1234, 0.2, 0.3, 0.3766, 0, 0], abs=1e-3)
    assert row["key_token"].tolist() == list(PAIR.tokens)
    assert set(table["second"]) == {5}, "the token after the first [SEP]"
    assert set(view_rows(("a b c",), PAIR, maps)["second"]) == {0}
