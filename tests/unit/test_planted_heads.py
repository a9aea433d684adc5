"""Heads made by hand among random ones: each measure finds its head, and claims no other."""

import numpy as np
import pandas as pd
import pytest
import torch
from decoder_by_hand import BEFORE, PIECE, PLACE, POSITIONS, SIZE, VOCABULARY, WIDTH, empty_decoder, into, set_head
from scipy.stats import binom, false_discovery_control
from tiny_models import saved_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from attention_atlas.atlas.head_scores import head_scores, random_scores
from attention_atlas.attention.cache import widened
from attention_atlas.attention.engine import install
from attention_atlas.corpora.examples import Example
from attention_atlas.methods.dependency_scoring import gather_gold, predicted_words, score
from attention_atlas.methods.head_relations import above_baseline, head_relations
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.models.card import ModelCard
from attention_atlas.models.extraction import each_example
from attention_atlas.stats.held_out import Resampling
from attention_atlas.stats.significance import LEVEL

LAYERS, HEADS, SPREAD, SHARP, SEEDS, WORDS, PAIRS = 6, 5, 0.02, 4.0, 10, 12, 10
FOUND_BY = {
    **{"previous": ["previous_token"], "induction": ["induction"], "duplicate": ["duplicate_token"]},
    **{"copying": ["ov_copying"], "sink": ["sink", "norm_sink"], "relation": ["relation"], "next": ["next_token"]},
}
"""Planted head -> its measures."""


def planted(seed):
    """A decoder, and planted head -> layer and head, from 0: a random place in a layer of its own; other weights are random."""
    generator = np.random.default_rng(seed)
    layers = generator.permutation(LAYERS)
    layers[:2].sort()
    names = [name for name in FOUND_BY if name != "next"]
    places = {name: (int(layer), int(generator.integers(HEADS))) for name, layer in zip(names, layers, strict=True)}
    nothing, to_first, partners = (torch.zeros(WIDTH, SIZE) for _ in range(3))
    to_first[PLACE.start, 0] = SHARP
    for piece in range(1, PAIRS + 1):
        partners[piece, piece + PAIRS] = SHARP
    copy_before, back = torch.zeros(SIZE, WIDTH), torch.zeros(SIZE, WIDTH)
    copy_before[:VOCABULARY, BEFORE] = torch.eye(VOCABULARY)
    back[:VOCABULARY, PIECE] = torch.eye(VOCABULARY)
    parts = {
        "previous": {"query": into(PLACE, -1, SHARP), "key": into(PLACE), "value": into(PIECE), "output": copy_before},
        "induction": {"query": into(PIECE, 0, SHARP), "key": into(BEFORE)},
        "duplicate": {"query": into(PIECE, 0, SHARP), "key": into(PIECE)},
        "copying": {"value": into(PIECE), "output": back},
        "sink": {"query": nothing, "key": to_first},
        "relation": {"query": partners, "key": into(PIECE)},
    }
    model = empty_decoder(LAYERS, HEADS, SPREAD)
    torch.manual_seed(seed)
    with torch.no_grad():
        for layer in model.h:
            nn.init.normal_(layer.attn.c_attn.weight, std=SPREAD)
            nn.init.normal_(layer.attn.c_proj.weight, std=SPREAD / (2 * LAYERS) ** 0.5)
        for name, (layer, head) in places.items():
            set_head(model.h[layer], head, **parts[name])
        layer, head = places["sink"]
        # The same query for all tokens.
        model.h[layer].attn.c_attn.bias[head * SIZE] = 10.0
    return model, places


def planted_encoder(seed):
    """An encoder, and the place of its head that attends to the next token; all other heads are random and write nothing."""
    generator = np.random.default_rng(seed)
    layer, head = int(generator.integers(LAYERS)), int(generator.integers(HEADS))
    torch.manual_seed(seed)
    settings = BertConfig(
        vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, hidden_size=HEADS * SIZE, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=4, initializer_range=SPREAD, pad_token_id=0,
    )  # fmt: skip
    model = BertForMaskedLM(settings)
    embeddings, attention = model.bert.embeddings, model.bert.encoder.layer[layer].attention.self
    with torch.no_grad():
        for table, part in ((embeddings.word_embeddings, PIECE), (embeddings.position_embeddings, PLACE)):
            table.weight.zero_()
            table.weight[:, part] = torch.eye(part.stop - part.start)
        embeddings.token_type_embeddings.weight.zero_()
        for one in model.bert.encoder.layer:
            one.attention.output.dense.weight.zero_()
            one.output.dense.weight.zero_()
        for linear, weights in ((attention.query, into(PLACE, 1, SHARP)), (attention.key, into(PLACE))):
            linear.weight[head * SIZE : (head + 1) * SIZE] = 0
            linear.weight[head * SIZE : (head + 1) * SIZE, :WIDTH] = weights.T
    return model, {"next": (layer, head)}


def sentence(record):
    """Words of which three depend on the word before them that their pieces name, at any distance; all others on any word."""
    generator = np.random.default_rng(record)
    places, pieces = 1 + generator.permutation(WORDS - 1), 2 * PAIRS + 1 + generator.permutation(VOCABULARY - 2 * PAIRS - 1)
    pieces, heads, relations = pieces[:WORDS], generator.integers(1, WORDS + 1, WORDS), ["dep"] * WORDS
    heads[0], relations[0] = 0, "root"
    for pair, piece in enumerate(generator.permutation(PAIRS)[:3] + 1):
        head, dependent = sorted(places[2 * pair : 2 * pair + 2])
        pieces[head], pieces[dependent] = piece + PAIRS, piece
        heads[dependent], relations[dependent], relations[head] = head + 1, "dobj", "nsubj"
    words = tuple(f"w{piece}" for piece in pieces)
    layers = {"heads": tuple(heads.tolist()), "relations": tuple(relations)}
    return Example(record, f"s{record}", tuple(pieces.tolist()), (0,) * WORDS, words, tuple(range(WORDS)), words, layers)


def relation_claims(model, examples):
    """One row per head: the words gained by its relation per word, and whether the test confirms them."""
    install(model.eval())
    picked = {
        example.record: predicted_words(widened(maps), np.zeros(WORDS, dtype=bool))
        for example, maps in each_example(model, examples, 0)
    }
    gold = gather_gold(examples)
    scores = score(np.concatenate([picked[example.record] for example in examples]), gold, AS_PUBLISHED)
    rows = head_relations(scores, gold, AS_PUBLISHED, Resampling(2, 1000, 0)).query("rank == 1")
    return rows.assign(measure="relation", value=rows["margin"].fillna(0), claimed=above_baseline(rows))


def score_claims(entry, job, null):
    """One row per measure and head: its value, and whether it is above the null distribution."""
    table = head_scores(entry, null=null, **job)
    for _, of_measure in table.dropna(subset="p").groupby("measure"):
        # The library has no q with so few random models.
        table.loc[of_measure.index, "q"] = false_discovery_control(of_measure["p"])
    return table.assign(claimed=(table["q"] < LEVEL) & (table["value"] > table["null_high"]))


def outcomes(folder, build):
    """One row per seed, measure and head: columns of `score_claims`, and whether `build` (from a seed) planted it."""
    tokenizer = Tokenizer(WordLevel({f"w{piece}": piece for piece in range(VOCABULARY)}, unk_token="w0"))
    card = ModelCard(
        name="planted", origin="a folder", model_type="planted", layers=LAYERS, heads=HEADS, max_tokens=POSITIONS, cls=None,
        sep=None, pad=0, weights_sha256="", init="pretrained", seed=0, dtype="float32",
    )  # fmt: skip
    examples = [sentence(record) for record in range(40)]
    settings = {"inputs": 8, "random_models": 22, "random_inputs": 4}
    job = {"card": card, "tokenizer": tokenizer, "examples": examples, "settings": settings, "resamples": 100, "seed": 0}
    null, tables = None, []
    for seed in range(SEEDS):
        model, places = build(seed)
        entry = saved_model(model, folder / str(seed))
        null = null or random_scores(entry, **job)["scores"]
        table = score_claims(entry, job, null)
        if "relation" in places:
            table = pd.concat([table, relation_claims(model, examples)], ignore_index=True)
        planted_for = {(measure, *place) for name, place in places.items() for measure in FOUND_BY[name]}
        here = [(row.measure, row.layer - 1, row.head - 1) in planted_for for row in table.itertuples()]
        tables.append(table.assign(seed=seed, planted=here))
    return pd.concat(tables)


@pytest.mark.parametrize("build", [planted, planted_encoder])
def test_each_planted_head_is_found_at_its_place_and_no_other_is_claimed(tmp_path, build):
    for measure, rows in outcomes(tmp_path, build).groupby("measure"):
        heads, others = rows[rows["planted"]], rows[~rows["planted"]]
        if build is planted or measure == "next_token":
            assert heads["claimed"].sum() == SEEDS, measure
            assert (heads.set_index("seed")["value"] > 2 * others.groupby("seed")["value"].max()).all(), measure
        # A random head that reads what planted heads wrote is not quite like one of a random model.
        assert others["claimed"].sum() <= binom.ppf(0.999, len(others), LEVEL / 2), measure
        claimed = others[others["claimed"]]
        assert (claimed["value"] < 1.3 * claimed["even_share"]).all(), measure
