"""Patterns of a user's choice: their texts, pairs against loops, shares of heads made by hand, and bad ones."""

import numpy as np
import pytest
import torch
from decoder_by_hand import PIECE, PLACE, POSITIONS, SIZE, VOCABULARY, WIDTH, empty_decoder, into, set_head
from small_tokenizer import save_tokenizer
from tiny_models import saved_model
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

from attention_atlas.atlas.head_measures import HEAD_SCORES, parse_patterns
from attention_atlas.atlas.head_scores import (
    COLUMNS,
    CONSTANT,
    Draws,
    Inputs,
    head_scores,
    pattern_pairs,
    pattern_share,
    random_entries,
    random_scores,
    read_tokenizer,
    repeated_sequences,
    score_rows,
    scores_of,
)
from attention_atlas.atlas.measures import measure_rows, numeric, read_measures
from attention_atlas.atlas.study import check
from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard

FUNCTIONS = """
import numpy as np

def same_letter(example):
    first = [token[0] for token in example.tokens]
    return np.array([[a == b for b in first] for a in first])

def previous(example):
    n = len(example.tokens)
    return np.eye(n, k=-1, dtype=bool)

def numbers(example):
    return np.eye(len(example.tokens))

def too_small(example):
    return np.eye(2, dtype=bool)

def broken(example):
    return example.nothing

def never(example):
    return np.zeros((len(example.tokens), len(example.tokens)), dtype=bool)

def later(example):
    return np.eye(len(example.tokens), k=1, dtype=bool)
"""


@pytest.fixture
def functions(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    return path


def sentence(record=0, words=("small", "dogs", "bark", "."), word=(-1, 0, 1, 1, 2, 3, -1)):
    layers = {
        "heads": (2, 3, 0, 3),
        "relations": ("amod", "nsubj", "root", "punct"),
        "upos": ("ADJ", "NOUN", "VERB", "PUNCT"),
        "xpos": ("JJ", "NNS", "VBP", "."),
    }
    tokens = tuple("[CLS]" if k == 0 else "[SEP]" if w < 0 else words[w] for k, w in enumerate(word))
    return Example(record, f"s{record}", tuple(range(len(word))), (0,) * len(word), tokens, word, words, layers)


def test_a_function_says_which_pairs_count(functions):
    pattern = parse_patterns([f"{functions}:same_letter"])[0]
    assert pattern.measure == "pattern_mine_same_letter"
    matrix = pattern_pairs(pattern, [sentence(3)])[3]
    assert matrix[0, 6]
    assert matrix[2, 3]
    assert not matrix[1, 2]


@pytest.mark.parametrize("causal", [False, True])
def test_shares_are_those_of_loops(causal):
    generator = np.random.default_rng(0)
    maps, pairs = generator.dirichlet(np.ones(6), (2, 3, 6)), generator.random((6, 6)) < 0.2
    pairs[2] = False
    ours = pattern_share(maps, pairs, causal)
    for layer, head in np.ndindex(2, 3):
        shares = []
        for query in range(6):
            keys = [key for key in range(6) if pairs[query, key] and (key <= query or not causal)]
            if keys:
                shares.append(sum(maps[layer, head, query, key] for key in keys))
        assert ours[layer, head] == pytest.approx(np.mean(shares))
    assert np.isnan(pattern_share(maps, np.zeros((6, 6), dtype=bool), causal)).all()


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    """Head 1 attends to the previous token, head 2 to the same piece, itself included."""
    model = empty_decoder(layers=1)
    with torch.no_grad():
        back = torch.zeros(SIZE, WIDTH)
        back[:VOCABULARY, PIECE] = torch.eye(VOCABULARY)
        set_head(model.h[0], 0, query=into(PLACE, -1, 10.0), key=into(PLACE), value=into(PIECE), output=back)
        set_head(model.h[0], 1, query=into(PIECE, 0, 10.0), key=into(PIECE), value=into(PIECE), output=back)
    folder = tmp_path_factory.mktemp("patterns")
    model.save_pretrained(folder)
    return {"source": {"path": str(folder)}, "init": "pretrained", "seed": 0, "dtype": "float32"}


def test_a_head_made_for_a_pattern_stands_out_from_random_weights(by_hand, functions):
    sequences = repeated_sequences(range(1, VOCABULARY), [], [], POSITIONS, 8, 0)
    sentences = [sequence.example for sequence in sequences]
    pairs = {"pattern_mine_previous": pattern_pairs(parse_patterns([f"{functions}:previous"])[0], sentences)}
    inputs, draws = Inputs(sentences, sequences, 0, pairs=pairs), Draws(8, 100, 2, 100, 0)
    values = scores_of(by_hand, inputs)["pattern_mine_previous"]
    null = np.concatenate(
        [
            scores_of(entry, inputs.part(number, 2))["pattern_mine_previous"].mean(axis=0).ravel()
            for number, entry in enumerate(random_entries(by_hand, draws))
        ]
    )
    rows = score_rows("pattern_mine_previous", values, null, inputs, draws)
    assert rows["value"][0] > 0.95
    assert rows["q"][0] < 0.05
    assert rows["value"][1] < 0.1
    assert (rows["n"] == 8).all()


def inputs_of_job(folder, patterns=()):
    """Twelve sentences in the form [CLS] ... [SEP], with card and tokenizer of a model of 2 x 3 heads."""
    tokenizer = save_tokenizer(folder / "tokenizer.json")
    pieces = WordPieces(tokenizer)
    facts = {"origin": "a folder", "model_type": "bert", "layers": 2, "heads": 3, "max_tokens": 64, "weights_sha256": ""}
    special = {"cls": "[CLS]", "sep": "[SEP]", "pad": 0, "mask": None, "init": "pretrained", "seed": 0, "dtype": "float32"}
    base = sentence()
    examples = []
    for record in range(12):
        made = pieces.assemble([pieces.pieces(base.words)])
        encoded = (made.input_ids, made.segment_ids, made.tokens, made.word)
        examples.append(Example(record, f"s{record}", *encoded, base.words, base.layers))
    settings = {"inputs": 8, "random_models": 2, "random_inputs": 4}
    read = {"card": ModelCard(name="tiny", **facts, **special), "tokenizer": read_tokenizer(str(tokenizer))}
    return {**read, "examples": examples, "settings": settings, "patterns": patterns, "resamples": 100, "seed": 0}


def test_measures_that_are_constant_by_construction_have_no_values(tmp_path):
    """A causal model that reads [CLS] ... [SEP]: no word sees [SEP], and [CLS] sees only itself."""
    inputs = inputs_of_job(tmp_path)
    torch.manual_seed(0)
    sizes = {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_inner": 32, "n_positions": 64}
    entry = saved_model(GPT2Model(GPT2Config(vocab_size=200, bos_token_id=0, eos_token_id=0, **sizes)), tmp_path / "model")
    null = random_scores(entry, **inputs)["scores"]
    measured = read_measures({HEAD_SCORES: head_scores(entry, null=null, **inputs)}, 2, 3)
    absent = {name for name, reason in measured.absent.items() if reason == CONSTANT}
    assert "norm_sep" in absent
    assert "next_token" not in measured.table
    assert not [name for name in numeric(measured.table) if measured.table[name].nunique() == 1]
    assert {"sink", "norm_sink", "previous_token"} <= set(measured.table)


def test_the_table_of_scores_names_the_measures_of_patterns(tmp_path, functions):
    texts = [f"{functions}:same_letter", f"{functions}:previous"]
    inputs = inputs_of_job(tmp_path, texts)
    examples = inputs["examples"]
    torch.manual_seed(0)
    size = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 32}
    settings = BertConfig(vocab_size=200, max_position_embeddings=64, **size)
    entry = saved_model(BertModel(settings), tmp_path / "model")
    null = random_scores(entry, **inputs)["scores"]
    # Models of this architecture with other weights share them.
    BertModel(settings).save_pretrained(tmp_path / "another")
    again = random_scores(entry | {"source": {"path": str(tmp_path / "another")}}, **inputs)["scores"]
    assert again.keys() == null.keys()
    assert all(np.array_equal(again[measure], values, equal_nan=True) for measure, values in null.items())
    assert {values.shape for values in null.values()} == {(2, 2, 3)}
    table = head_scores(entry, null=null, **inputs)
    assert list(table.columns) == list(COLUMNS)
    letter = table[table["measure"] == "pattern_mine_same_letter"]
    assert letter["pattern"].unique().tolist() == [texts[0]]
    tokens, matrix = len(examples[0].tokens), pattern_pairs(parse_patterns(texts)[0], examples[:1])[0]
    assert letter["even_share"].to_numpy() == pytest.approx(matrix.mean(), rel=1e-5)
    measured = read_measures({HEAD_SCORES: table}, 2, 3)
    rows = measure_rows(measured, {}).set_index("measure")
    assert rows.loc["pattern_mine_same_letter", "title"] == f"Attention on the pattern {texts[0]}"
    assert rows.loc["pattern_mine_same_letter", "null"] == "heads with random weights"
    assert rows.loc["pattern_mine_same_letter", "n"] == 8
    assert rows.loc["pattern_mine_previous", "chance"] == pytest.approx((tokens - 1) / tokens / (tokens - 1), rel=1e-4)
    assert {"pattern_mine_previous", "sink", "norm_sink"} <= set(numeric(measured.table))
    assert not {"pattern_mine_previous_low", "pattern_mine_previous_null_low"} & set(numeric(measured.table))
    with pytest.raises(AtlasError, match=r"mine.py:never': the 8 sentences that heads are scored on have no such"):
        random_scores(entry, **inputs | {"patterns": [f"{functions}:never"]})
    with pytest.raises(AtlasError, match=r"different measures \(pattern_mine_previous, pattern_mine_same_letter\)"):
        head_scores(entry, null=null, **inputs | {"patterns": ()})


@pytest.mark.parametrize(
    ("text", "sentence_of_error"),
    [
        ("nsubj", "pattern 'nsubj': write it as FILE.py:FUNCTION"),
        ("relation:nsubj", "write it as FILE.py:FUNCTION"),
        ("mine.py:", "write it as FILE.py:FUNCTION"),
        ("nowhere.py:mine", "there is no file nowhere.py"),
        ("{functions}:absent", "defines no function 'absent' .its functions: same_letter, previous"),
        ("{unparsable}:mine", "line 2: this is not Python"),
    ],
)
def test_a_bad_text_is_one_sentence(text, sentence_of_error, functions, tmp_path):
    unparsable = tmp_path / "unparsable.py"
    unparsable.write_text("\ndef mine(:\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=sentence_of_error) as raised:
        parse_patterns([text.format(functions=functions, unparsable=unparsable)])
    assert "\n" not in str(raised.value)


def test_two_patterns_of_one_name_are_refused(functions):
    with pytest.raises(AtlasError, match="would be called pattern_mine_previous"):
        parse_patterns([f"{functions}:previous", f"{functions.parent}/./mine.py:previous"])


@pytest.mark.parametrize(
    ("name", "sentence_of_error"),
    [
        ("numbers", r"returns float64 of shape \(7, 7\) for example s0; it must return a boolean matrix of shape \(7, 7\)"),
        ("too_small", r"returns bool of shape \(2, 2\)"),
        ("broken", r"the function fails on example s0 \(AttributeError"),
    ],
)
def test_a_bad_function_is_one_sentence(name, sentence_of_error, functions):
    with pytest.raises(AtlasError, match=sentence_of_error):
        pattern_pairs(parse_patterns([f"{functions}:{name}"])[0], [sentence()])


def test_a_file_that_cannot_be_imported_is_one_sentence(tmp_path):
    path = tmp_path / "failing.py"
    path.write_text("import nothing_of_this_name\n\ndef mine(example):\n    return None\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"failing.py cannot be imported \(ModuleNotFoundError: No module named"):
        pattern_pairs(parse_patterns([f"{path}:mine"])[0], [sentence()])


def test_the_configuration_names_the_key_of_a_bad_pattern(functions):
    config = {
        "runs": {"one": {"atlas": {"patterns": ["nsubj"], "sentences": "trees"}}},
        "corpora": {"trees": {"level": "tokens"}},
    }
    with pytest.raises(AtlasError, match=r"config: runs.one.atlas.patterns: pattern 'nsubj': write it as FILE.py:FUNCTION"):
        check(config, "one", "runs.one.atlas")
    config["runs"]["one"]["atlas"] = {"patterns": [f"{functions}:previous"]}
    with pytest.raises(AtlasError, match=r"name a corpus under runs\.one\.atlas\.sentences"):
        check(config, "one", "runs.one.atlas")
