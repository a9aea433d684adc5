"""Table 3: probes equal the formulas written out in loops, however they are batched, stacked and streamed."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from clark_inputs import sentence as example_of
from small_shards import write_example_shards

from attention_atlas.attention.cache import StoredAttention, read_attention
from attention_atlas.corpora.word_vectors import WordVectors
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard
from attention_atlas.studies.clark2019 import probes as module
from attention_atlas.studies.clark2019.probe_scores import probe_scores, table3
from attention_atlas.studies.clark2019.probes import (
    ALL_PROBES,
    AttentionProbe,
    AttentionWordsProbe,
    DistanceProbe,
    Sentence,
    batch_of,
    laid_out,
    make_probes,
    predictions,
    sentences,
    train,
)

K, D = 3, 4
SEEDS = (0, 7)
CARD = ModelCard("m", "", "bert", 1, K, 64, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")


def sentence(n, record=0):
    generator = np.random.default_rng([n, record])
    maps = generator.random((K, n, n)).astype(np.float32)
    cls, sep = generator.random((2, 2 * K, n)).astype(np.float32)
    heads = np.array([generator.choice([h for h in range(n + 1) if h != k]) for k in range(1, n + 1)])
    vectors = generator.normal(size=(n, D)).astype(np.float32)
    pairs = laid_out(maps, cls, sep)
    # The second word of every sentence is the same.
    words = tuple("same" if k == 1 else f"w{record}-{k}" for k in range(n))
    vectors[1:2] = np.arange(D)
    return Sentence(record, words, pairs, vectors, heads, np.arange(n) == n - 1)


SENTENCES = [sentence(n, k) for k, n in enumerate((5, 3, 1, 4))]


def recipe(**changes):
    settings = {"batch": 2, "epochs": 2, "learning_rate": 0.01, "order": "file", "seeds": SEEDS, "dimensions": D}
    return {**settings, "duplicates": "corrected", **changes}


def trained(names, group=SENTENCES, **changes):
    """Probes that are trained on a group of sentences."""
    settings = recipe(**changes)
    probes = make_probes(names, settings["seeds"], K, D)
    train(probes, lambda: iter(group), settings)
    return probes


def scrambled(probe):
    """Give every parameter other values, so that no formula hides behind a zero or a one."""
    for number, parameter in enumerate(probe.parameters()):
        generator = torch.Generator().manual_seed(number)
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.5
    return probe


def pair_features(s, i, j):
    """a_k(i, j) and a_k(j, i) for k maps, 1-indexed words."""
    return np.concatenate([s.pairs[i - 1, :K, j + 1], s.pairs[j - 1, :K, i + 1]])


def root_features(s, i, scalars):
    return scalars[0] * s.pairs[i - 1, :, 0] + scalars[1] * s.pairs[i - 1, :, 1]


def candidate_vector(s, j, alignment):
    n = len(s.heads)
    place = j - 1 if alignment == "fixed" else j
    return s.vectors[place] if 0 <= place < n else np.zeros(D)


def slow_scores(probe, s, slot):
    n = len(s.heads)
    scores = np.zeros((n, n + 1))
    alignment, _ = probe.slots[slot]
    p = {name: value.detach().numpy()[slot] for name, value in probe.named_parameters()}
    for i, j in itertools.product(range(1, n + 1), range(n + 1)):
        if isinstance(probe, DistanceProbe):
            hidden = distance(i, j, n) @ p["of_distance"] + s.vectors[i - 1] @ p["of_word"]
            hidden = hidden + candidate_vector(s, j, alignment) @ p["of_candidate"] + p["bias"]
            scores[i - 1, j] = np.tanh(hidden) @ p["out"]
            continue
        features = root_features(s, i, p["root"]) if j == 0 else pair_features(s, i, j)
        if isinstance(probe, AttentionProbe):
            weights = p["weights"]
        else:
            both = np.concatenate([s.vectors[i - 1], candidate_vector(s, j, alignment)])
            weights = both @ np.concatenate([p["of_word"], p["of_candidate"]]) + p["bias"]
        scores[i - 1, j] = weights @ features
    return scores


def distance(i, j, n):
    if j == 0:
        return np.array([0] * 7 + [1.0])
    return np.array([max(j - i, 0) / n, max(i - j, 0) / n, *(float(j - i == k) for k in (0, -1, 1, -2, 2)), 0])


def probes():
    return [
        AttentionProbe(SEEDS, K),
        AttentionWordsProbe(["fixed"], SEEDS, K, D),
        AttentionWordsProbe(["legacy", "fixed"], SEEDS, K, D),
        AttentionWordsProbe(["legacy"], SEEDS, K, D, bias=False),
        DistanceProbe(["legacy"], SEEDS, D),
        DistanceProbe(["legacy", "fixed"], SEEDS, D),
    ]


@pytest.mark.parametrize("number", range(6))
def test_scores_and_loss_equal_the_formula_word_by_word(number):
    probe = scrambled(probes()[number])
    batch = batch_of(SENTENCES)
    scores = probe(batch).detach().numpy()
    losses = np.zeros(len(probe.slots))
    for (row, s), k in itertools.product(enumerate(SENTENCES), range(len(probe.slots))):
        n = len(s.heads)
        expected = slow_scores(probe, s, k)
        assert scores[k, row, :n, : n + 1] == pytest.approx(expected, abs=1e-4)
        assert (scores[k, row, :n, n + 1 :] < -1e8).all()
        normal = np.log(np.exp(expected).sum(axis=1))
        losses[k] += sum(normal[i] - expected[i, s.heads[i]] for i in range(n))
    assert probe.loss(batch).detach().numpy() == pytest.approx(losses, rel=1e-4)
    # A batch is the sum of its sentences.
    alone = sum(probe.loss(batch_of([s])).detach().numpy() for s in SENTENCES)
    assert alone == pytest.approx(losses, rel=1e-4)


def test_initial_values_are_uniform_within_the_bounds_of_the_published_code():
    seeds, maps, dimensions = tuple(range(300)), 6, 5
    probes = {
        "attention": AttentionProbe(seeds, maps),
        "words": AttentionWordsProbe(["legacy"], seeds, maps, dimensions),
        "distances": DistanceProbe(["legacy"], seeds[:3], dimensions),
    }
    # tf.get_variable without an initializer: a vector of 12 weights has 12 inputs and 12 outputs, a scalar one of each.
    for name, parameter, bound in (
        ("attention", "weights", (6 / 24) ** 0.5),
        ("attention", "root", 3**0.5),
        ("words", "root", 3**0.5),
        ("words", "of_word", (6 / (10 + 12)) ** 0.5),
        ("distances", "of_distance", (6 / (1 + 8 + 10 + 256)) ** 0.5),
        ("distances", "out", (6 / 257) ** 0.5),
    ):
        values = getattr(probes[name], parameter).detach().numpy().ravel()
        assert np.abs(values).max() <= bound
        assert np.abs(values).max() > 0.98 * bound
        # Mean and variance of a uniform distribution, within five standard errors.
        assert abs(values.mean()) < 5 * bound / (3 * len(values)) ** 0.5
        assert abs(values.var() / (bound**2 / 3) - 1) < 5 * (0.8 / len(values)) ** 0.5
    assert (probes["words"].bias == 0).all()
    # The same seed gives the same values, and parameters of one probe are drawn apart.
    again = AttentionProbe((7,), maps)
    assert torch.equal(again.root[0], probes["attention"].root[7])
    correlation = np.corrcoef(
        probes["attention"].root.detach().numpy()[:, 0], probes["attention"].weights.detach().numpy()[:, 0]
    )
    assert abs(correlation[0, 1]) < 0.3


def test_the_formula_of_the_paper_keeps_no_bias():
    untrained = make_probes(["attention_words", "bias_free_attention_words"], SEEDS, K, D)
    with_bias, free = untrained.values()
    # One seed and the published alignment, which begin with the values of the other.
    assert free.slots == (("legacy", SEEDS[0]),)
    assert torch.equal(free.of_word[0], with_bias.of_word[0])
    with_bias, free = trained([*untrained], epochs=3, learning_rate=0.05).values()
    assert (free.bias == 0).all()
    assert (with_bias.bias != 0).any()


@pytest.mark.parametrize("kind", ["attention_only", "attention_words", "distances_words"])
def test_seeds_together_are_seeds_one_by_one(kind):
    both = trained([kind])[kind]
    for seed in SEEDS:
        probe = trained([kind], seeds=(seed,))[kind]
        for together, alone in zip(both.parameters(), probe.parameters(), strict=True):
            for k, slot in enumerate(probe.slots):
                slot_parameters = together[both.slots.index(slot)].detach().numpy()
                assert slot_parameters == pytest.approx(alone[k].detach().numpy(), abs=1e-5)
    first = next(both.parameters())
    assert not torch.allclose(first[0], first[1])


def planted(record):
    """A sentence whose second map shows the heads."""
    s = sentence(6, record)
    maps = s.pairs[:, :K, 2:].transpose(1, 0, 2) * 0.1
    for i, head in enumerate(s.heads):
        if head:
            maps[1, i, head - 1] += 1
    cls, sep = np.zeros((2, 2 * K, len(s.heads)), np.float32)
    cls[1] = s.heads == 0
    return Sentence(s.record, s.words, laid_out(maps, cls, sep), s.vectors, s.heads, s.punctuation)


def test_training_learns_a_planted_head():
    group = [planted(k) for k in range(60)]
    probes = trained(["attention_only"], group, batch=4, epochs=6, learning_rate=0.05, order="shuffled")
    weights = probes["attention_only"].weights.detach().numpy()
    assert (weights.argmax(axis=1) == 1).all()
    results = predictions(probes, iter(group))
    assert results["right_all"].sum() / results["words_all"].sum() > 0.95


def test_every_sentence_is_seen_once_an_epoch_a_chunk_in_memory(monkeypatch):
    monkeypatch.setattr(module, "PROBE_CHUNK", 5)
    pulled = []

    def stream():
        for k in range(13):
            pulled.append(k)
            yield sentence(1 + 3 * k % 4, k)

    for generator in (None, np.random.default_rng(0)):
        parts = list(module._batches(stream(), 2, generator))
        seen = [s.record for part in parts for s in part]
        assert sorted(seen) == list(range(13))
        assert max(map(len, parts)) == 2
        assert (seen == list(range(13))) == (generator is None)
        # Batches of a chunk are of similar length.
        lengths = [*itertools.chain(*sorted(sorted(len(s.heads) for s in part) for part in parts[:3]))]
        assert (lengths == sorted(lengths)) == (generator is not None)
        pulled.clear()
        next(module._batches(stream(), 2, generator))
        assert len(pulled) <= 6


def test_nothing_to_train_on_and_losses_that_are_not_finite_are_said():
    broken = replace(SENTENCES[0], vectors=SENTENCES[0].vectors * np.float32(np.nan))
    for group, message in (
        ([], "no sentence to train probes on"),
        ([broken], r"diverged: at epoch 1 .*learning_rate of the probes \(0\.01\)"),
    ):
        with pytest.raises(AtlasError, match=message):
            trained(["attention_words"], group)


def test_training_is_the_published_procedure():
    """One sentence per step, in file order, with Adam, exactly the epochs of the recipe; probes do not affect each other."""
    names = ["attention_only", "attention_words", "distances_words"]
    for name, expected in make_probes(names, SEEDS, K, D).items():
        adam = torch.optim.Adam(expected.parameters(), lr=0.01)
        for s in SENTENCES * 2:
            adam.zero_grad()
            expected.loss(batch_of([s])).sum().backward()
            adam.step()
        together = trained(names, batch=1)[name]
        for parameter, expected_parameter in zip(together.parameters(), expected.parameters(), strict=True):
            assert torch.equal(parameter, expected_parameter)


def corpus(folder, name, sizes, same_as):
    (folder / name).mkdir()
    shards, maps = write_example_shards(folder / name, [n + 2 for n in sizes], layers=1, heads=K, seed=len(sizes))
    examples = []
    for record, n in enumerate(sizes):
        s = sentence(n, record)
        relations = ["punct" if punctuation else "dep" for punctuation in s.punctuation]
        examples.append(replace(example_of(same_as[record], map(int, s.heads), relations, record), id=f"e{record}"))
    return shards, examples, maps


def test_sentences_hold_what_the_maps_hold(tmp_path):
    shards, examples, maps = corpus(tmp_path, "a", [4, 2], [("w0", "w1", "w2", "w3"), ("w0", "w1")])
    vectors = WordVectors("v", ["w1"], np.array([[0, 0], [1, 2]], np.float32))
    first, second = sentences(examples, read_attention(shards), vectors, CARD)
    a = maps[0][0].astype(np.float32)
    inner, cls, sep = first.pairs[..., 2:], first.pairs[..., 0].T, first.pairs[..., 1].T
    assert inner[:, :K].transpose(1, 0, 2) == pytest.approx(a[:, 1:5, 1:5])
    assert inner[:, K:].transpose(1, 2, 0) == pytest.approx(a[:, 1:5, 1:5])
    assert cls == pytest.approx(np.concatenate([a[:, 1:5, 0], a[:, 0, 1:5]]))
    assert sep == pytest.approx(np.concatenate([a[:, 1:5, 5], a[:, 5, 1:5]]))
    assert first.vectors.tolist() == [[0, 0], [1, 2], [0, 0], [0, 0]]
    assert second.punctuation.tolist() == [False, True]
    without = next(sentences(examples, read_attention(shards), vectors, replace(CARD, cls=None, sep=None)))
    assert not without.pairs[..., :2].any()


def corpora(folder):
    """A treebank of training with its first and fifth sentence alike, one whose first sentence is the second of the former,
    and word vectors."""
    words = [(f"a{record}",) * n for record, n in enumerate([4, 3, 5, 2, 4, 6])]
    words[4] = words[0]
    training = corpus(folder, "train", [len(sentence) for sentence in words], words)
    evaluation = corpus(folder, "dev", [3, 4], [words[1], ("other", "words", "here", "now")])
    vectors = np.random.default_rng(0).normal(size=(7, D)).astype(np.float32)
    return training, evaluation, WordVectors("own vectors", [f"a{k}" for k in range(6)], vectors)


def run_on(training, evaluation, vectors, name, **changes):
    """Results and facts of the probes of a model; that of the name r has random weights."""
    data = StoredAttention(training[0], 6), training[1], read_attention(evaluation[0], 2), evaluation[1]
    tables = module.probes("m", replace(CARD, name=name), *data, {}, recipe(**changes), lambda words: vectors)
    return tables["table"], tables["training"]


@pytest.mark.parametrize(("duplicates", "seen"), [("corrected", 5), ("released_code", 6)])
def test_training_sentences_of_the_evaluation_treebank_can_be_kept_as_published(tmp_path, duplicates, seen):
    facts = run_on(*corpora(tmp_path), "r", epochs=1, duplicates=duplicates)[1].set_index("quantity")["value"]
    assert facts[["sentences", "duplicates"]].tolist() == [seen, 1]


def test_table_3_from_shards(tmp_path):
    training, evaluation, vectors = corpora(tmp_path)
    settings = {"order": "shuffled", "seeds": (0, 1, 2)}
    results = {name: run_on(training, evaluation, vectors, name, **settings) for name in ("m", "r")}
    assert set(results["m"][0]["probe"]) == set(ALL_PROBES)
    assert set(results["r"][0]["probe"]) == {"attention_words"}
    again = run_on(training, evaluation, vectors, "r", **settings)[0]
    pd.testing.assert_frame_equal(again, results["r"][0], check_exact=True)
    frames = {name: parts[0] for name, parts in results.items()}
    tables = probe_scores(frames, results["m"][1], evaluation[1], 100, 0)
    assert len(tables["seeds"]) == 3 * (5 + 2) + 1, "three seeds; of the random model, too, and one without bias"
    table = table3(tables["scores"], tables["training"], {"probe_training": "train"}).frame
    by_probe = table.query("punctuation == 'without'").set_index(["probe", "root_alignment"])
    # The last word of a sentence is punctuation here and does not count.
    heads = [np.array(e.layers["heads"]) for e in evaluation[1]]
    right = sum((h[:-1] == np.arange(2, len(h) + 1)).sum() for h in heads)
    assert by_probe.loc[("right_branching", "-"), ["uas", "n"]].tolist() == pytest.approx([right / 5, 5])
    whole = table.query("probe == 'right_branching' and punctuation == 'with'").iloc[0]
    right_last = sum(h[-1] == len(h) for h in heads)
    assert whole[["uas", "n"]].tolist() == pytest.approx([(right + right_last) / 7, 7])
    sums = results["m"][0].query("probe == 'attention_only'").groupby("seed")[["right", "words", "roots", "right_roots"]].sum()
    accuracies = sums["right"] / sums["words"]
    expected = [accuracies.mean(), accuracies.std(ddof=1), 3, sums["right_roots"].sum() / sums["roots"].sum()]
    assert by_probe.loc[("attention_only", "-"), ["uas", "sd", "seeds", "root_accuracy"]].tolist() == pytest.approx(expected)
    for row in tables["leads"].itertuples():
        over = by_probe.loc[(row.over, "-" if row.over == "attention_only" else row.root_alignment), "uas"]
        assert row.value == pytest.approx(by_probe.loc[("attention_words", row.root_alignment), "uas"] - over, abs=1e-5)
    assert len(tables["leads"]) == 6
    # The rows of the paper's table come first, in its order; they alone have its values.
    assert table[["probe", "root_alignment", "punctuation", "paper_uas"]].head(5).to_numpy().tolist() == [
        ["right_branching", "-", "without", 0.26],
        ["distances_words", "legacy", "without", 0.58],
        ["random_attention_words", "legacy", "without", 0.30],
        ["attention_only", "-", "without", 0.61],
        ["attention_words", "legacy", "without", 0.77],
    ]
    assert table.loc[5:, ["paper_uas", "notebook_uas"]].isna().all(axis=None)
    assert table["notebook_uas"].dropna().to_dict() == {4: 0.78}
