"""Table 3: probes equal the formulas written out in loops, however they are batched, stacked and streamed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from clark_inputs import sentence as example_of
from small_shards import write_example_shards

from attention_atlas.attention.cache import StoredAttention, read_attention
from attention_atlas.corpora.word_vectors import WordVectors
from attention_atlas.models.card import ModelCard
from attention_atlas.studies.clark2019 import probes as module
from attention_atlas.studies.clark2019.probe_scores import probe_scores, table3
from attention_atlas.studies.clark2019.probes import AttentionProbe, AttentionWordsProbe, DistanceProbe, Sentence, batch_of

K, D = 3, 4
SEEDS = (0, 7)
CARD = ModelCard("m", "", "bert", 1, K, 64, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")


def laid_out(maps, root):
    """Maps [K, n, n] and attention to and from [CLS] and [SEP] [n, 2 K, 2], as a sentence has them."""
    both = np.concatenate([maps.transpose(1, 0, 2), maps.transpose(2, 0, 1)], axis=1)
    return np.concatenate([root, both], axis=2).astype(np.float32)


def sentence(n, record=0):
    """The second word of every sentence is the same."""
    generator = np.random.default_rng([n, record])
    pairs = laid_out(generator.random((K, n, n)), generator.random((n, 2 * K, 2)))
    heads = np.array([generator.choice([h for h in range(n + 1) if h != k]) for k in range(1, n + 1)])
    vectors = generator.normal(size=(n, D)).astype(np.float32)
    vectors[1:2] = np.arange(D)
    words = tuple("same" if k == 1 else f"w{record}-{k}" for k in range(n))
    return Sentence(record, words, pairs, vectors, heads, np.arange(n) == n - 1)


SENTENCES = [sentence(n, k) for k, n in enumerate((5, 3, 1, 4))]


def recipe(**changes):
    settings = {"batch": 2, "epochs": 2, "learning_rate": 0.01, "order": "file", "seeds": SEEDS, "dimensions": D}
    return {**settings, "duplicates": "corrected", **changes}


def trained(names, group=SENTENCES, **changes):
    settings = recipe(**changes)
    probes = module.make_probes(names, settings["seeds"], K, D)
    module.train(probes, lambda: iter(group), settings)
    return probes


def distance(i, j, n):
    if j == 0:
        return np.array([0] * 7 + [1.0])
    return np.array([max(j - i, 0) / n, max(i - j, 0) / n, *(float(j - i == k) for k in (0, -1, 1, -2, 2)), 0])


def slow_score(probe, s, slot, i, j):
    """The score of candidate j for word i, from 1."""
    alignment, _ = probe.slots[slot]
    p = {name: value.detach().numpy()[slot] for name, value in probe.named_parameters()}
    place = j - 1 if alignment == "fixed" else j
    word, candidate = s.vectors[i - 1], s.vectors[place] if 0 <= place < len(s.heads) else np.zeros(D)
    if isinstance(probe, DistanceProbe):
        hidden = distance(i, j, len(s.heads)) @ p["of_distance"] + word @ p["of_word"] + candidate @ p["of_candidate"]
        return np.tanh(hidden + p["bias"]) @ p["out"]
    if isinstance(probe, AttentionProbe):
        weights = p["weights"]
    else:
        weights = np.concatenate([word, candidate]) @ np.concatenate([p["of_word"], p["of_candidate"]]) + p["bias"]
    if j == 0:
        return weights @ (p["root"][0] * s.pairs[i - 1, :, 0] + p["root"][1] * s.pairs[i - 1, :, 1])
    # a_k(i, j) and a_k(j, i) of k maps.
    return weights @ np.concatenate([s.pairs[i - 1, :K, j + 1], s.pairs[j - 1, :K, i + 1]])


@pytest.mark.parametrize(
    "probe",
    [
        AttentionProbe(SEEDS, K),
        AttentionWordsProbe(["legacy", "fixed"], SEEDS, K, D),
        AttentionWordsProbe(["legacy"], SEEDS, K, D, bias=False),
        DistanceProbe(["legacy", "fixed"], SEEDS, D),
    ],
)
def test_scores_and_loss_equal_the_formula_word_by_word(probe):
    for number, parameter in enumerate(probe.parameters()):
        # No formula hides behind a zero or a one.
        parameter.data = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number)) * 0.5
    batch = batch_of(SENTENCES)
    scores = probe(batch).detach().numpy()
    losses = np.zeros(len(probe.slots))
    for (row, s), k in itertools.product(enumerate(SENTENCES), range(len(probe.slots))):
        n = len(s.heads)
        expected = np.array([[slow_score(probe, s, k, i, j) for j in range(n + 1)] for i in range(1, n + 1)])
        assert scores[k, row, :n, : n + 1] == pytest.approx(expected, abs=1e-4)
        assert (scores[k, row, :n, n + 1 :] < -1e8).all()
        normal = np.log(np.exp(expected).sum(axis=1))
        losses[k] += sum(normal[i] - expected[i, s.heads[i]] for i in range(n))
    assert probe.loss(batch).detach().numpy() == pytest.approx(losses, rel=1e-4)
    alone = sum(probe.loss(batch_of([s])).detach().numpy() for s in SENTENCES)
    assert alone == pytest.approx(losses, rel=1e-4)


def test_initial_values_are_uniform_within_the_bounds_of_the_published_code():
    seeds = tuple(range(300))
    attention, words = AttentionProbe(seeds, 6), AttentionWordsProbe(["legacy"], seeds, 6, 5)
    distances = DistanceProbe(["legacy"], seeds[:3], 5)
    # tf.get_variable without an initializer: a vector of 12 weights has 12 inputs and 12 outputs, a scalar one of each.
    for parameter, fans in (
        *((attention.weights, 24), (attention.root, 2), (words.of_word, 10 + 12)),
        *((distances.of_distance, 1 + 8 + 10 + 256), (distances.out, 257)),
    ):
        values, bound = parameter.detach().numpy().ravel(), (6 / fans) ** 0.5
        assert 0.98 * bound < np.abs(values).max() <= bound
        # Mean and variance of a uniform distribution, within five standard errors.
        assert abs(values.mean()) < 5 * bound / (3 * len(values)) ** 0.5
        assert abs(values.var() / (bound**2 / 3) - 1) < 5 * (0.8 / len(values)) ** 0.5
    assert torch.equal(AttentionProbe((7,), 6).root[0], attention.root[7])


def test_the_formula_of_the_paper_keeps_no_bias():
    with_bias, free = trained(["attention_words", "bias_free_attention_words"], epochs=3, learning_rate=0.05).values()
    assert free.slots == (("legacy", SEEDS[0]),)
    assert (free.bias == 0).all()
    assert (with_bias.bias != 0).any()


@pytest.mark.parametrize("generator", [None, np.random.default_rng(0)])
def test_every_sentence_is_seen_once_an_epoch_a_chunk_in_memory(monkeypatch, generator):
    monkeypatch.setattr(module, "PROBE_CHUNK", 5)
    pulled = []
    stream = (pulled.append(k) or sentence(1 + 3 * k % 4, k) for k in range(13))
    batches = module._batches(stream, 2, generator)
    parts = [next(batches)]
    assert len(pulled) <= 6
    parts += batches
    seen = [s.record for part in parts for s in part]
    assert sorted(seen) == list(range(13))
    assert (seen == list(range(13))) == (generator is None)


def test_training_is_the_published_procedure():
    """One sentence per step, in file order, with Adam, exactly the epochs of the recipe; probes do not affect each other."""
    names = ["attention_only", "attention_words", "distances_words"]
    together = trained(names, batch=1)
    for name, expected in module.make_probes(names, SEEDS, K, D).items():
        adam = torch.optim.Adam(expected.parameters(), lr=0.01)
        for s in SENTENCES * 2:
            adam.zero_grad()
            expected.loss(batch_of([s])).sum().backward()
            adam.step()
        for parameter, expected_parameter in zip(together[name].parameters(), expected.parameters(), strict=True):
            assert torch.equal(parameter, expected_parameter)


def corpus(folder, name, words):
    """Shards, sentences whose last word is punctuation, and maps."""
    (folder / name).mkdir()
    shards, maps = write_example_shards(folder / name, [len(of) + 2 for of in words], layers=1, heads=K, seed=len(words))
    examples = []
    for record, of in enumerate(words):
        relations = [*["dep"] * (len(of) - 1), "punct"]
        examples.append(replace(example_of(of, map(int, sentence(len(of), record).heads), relations, record), id=f"e{record}"))
    return shards, examples, maps


def test_sentences_hold_what_the_maps_hold(tmp_path):
    shards, examples, maps = corpus(tmp_path, "a", [("w0", "w1", "w2", "w3"), ("w0", "w1")])
    vectors = WordVectors("v", ["w1"], np.array([[0, 0], [1, 2]], np.float32))
    first, second = module.sentences(examples, read_attention(shards), vectors, CARD)
    a = maps[0][0].astype(np.float32)
    root = np.stack([np.concatenate([a[:, 1:5, k], a[:, k, 1:5]]).T for k in (0, 5)], axis=-1)
    assert first.pairs == pytest.approx(laid_out(a[:, 1:5, 1:5], root))
    assert first.vectors.tolist() == [[0, 0], [1, 2], [0, 0], [0, 0]]
    assert second.punctuation.tolist() == [False, True]


@pytest.fixture
def data(tmp_path):
    """A treebank of training with its first and fifth sentence alike, one whose first sentence is the second of the former,
    and word vectors."""
    words = [(f"a{record}",) * n for record, n in enumerate([4, 3, 5, 2, 4, 6])]
    words[4] = words[0]
    training = corpus(tmp_path, "train", words)
    evaluation = corpus(tmp_path, "dev", [words[1], ("other", "words", "here", "now")])
    vectors = np.random.default_rng(0).normal(size=(7, D)).astype(np.float32)
    return training, evaluation, WordVectors("own vectors", [f"a{k}" for k in range(6)], vectors)


def run_on(data, name, **changes):
    """Tables of the probes of a model; that of the name r has random weights."""
    training, evaluation, vectors = data
    read = StoredAttention(training[0], 6), training[1], read_attention(evaluation[0], 2), evaluation[1]
    return module.probes("m", replace(CARD, name=name), *read, {}, recipe(**changes), lambda words: vectors)


@pytest.mark.parametrize(("duplicates", "seen"), [("corrected", 5), ("released_code", 6)])
def test_training_sentences_of_the_evaluation_treebank_can_be_kept_as_published(data, duplicates, seen):
    facts = run_on(data, "r", epochs=1, duplicates=duplicates)["training"].set_index("quantity")["value"]
    assert facts[["sentences", "duplicates"]].tolist() == [seen, 1]


def test_table_3_from_shards(data):
    results = {name: run_on(data, name, order="shuffled", seeds=(0, 1, 2)) for name in ("m", "r")}
    assert set(results["m"]["table"]["probe"]) == set(module.ALL_PROBES)
    examples = data[1][1]
    frames = {name: tables["table"] for name, tables in results.items()}
    tables = probe_scores(frames, results["m"]["training"], examples, 100, 0)
    table = table3(tables["scores"], tables["training"], {"probe_training": "train"}).frame
    by_probe = table.query("punctuation == 'without'").set_index(["probe", "root_alignment"])
    # The last word of a sentence is punctuation here and does not count.
    heads = [np.array(e.layers["heads"]) for e in examples]
    right = sum((h[:-1] == np.arange(2, len(h) + 1)).sum() for h in heads)
    assert by_probe.loc[("right_branching", "-"), ["uas", "n"]].tolist() == pytest.approx([right / 5, 5])
    sums = frames["m"].query("probe == 'attention_only'").groupby("seed")[["right", "words", "roots", "right_roots"]].sum()
    accuracies = sums["right"] / sums["words"]
    expected = [accuracies.mean(), accuracies.std(ddof=1), 3, sums["right_roots"].sum() / sums["roots"].sum()]
    assert by_probe.loc[("attention_only", "-"), ["uas", "sd", "seeds", "root_accuracy"]].tolist() == pytest.approx(expected)
    # The rows of the paper's table come first, in its order; they alone have its values.
    assert table["paper_uas"].tolist()[:5] == [0.26, 0.58, 0.30, 0.61, 0.77]
    assert table.loc[5:, ["paper_uas", "notebook_uas"]].isna().all(axis=None)
