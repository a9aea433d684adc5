"""Tags of words: documents as examples, taggers trained and evaluated, heads removed; against loops over single documents."""

import json

import numpy as np
import torch
from first_gradients import assert_parts_give_the_gradient_of_the_batch, saved_base
from small_entries import FILE_ORDER, KEYPHRASES
from transformers import BertConfig, BertForTokenClassification

from attention_atlas.attention.batches import model_inputs
from attention_atlas.attention.engine import install, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.alignment import SPECIAL, WordPieces
from attention_atlas.corpora.examples import Example, ExampleBuilder, build_shard, read_examples, write_examples
from attention_atlas.corpora.keyphrases import KeyphraseDocument, document_example, located
from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.models.card import ModelCard
from attention_atlas.models.fine_tuning import fine_tune
from attention_atlas.models.loading import load_trained
from attention_atlas.models.task_heads import TAGS, gold_tags, tags_under
from attention_atlas.studies.stefanik2021.removal import f1_of, removal, token_counts

PAD, HEADS, LAYERS = 0, 2, 2


def example(record, size, tags=None):
    """Words of one piece, but every third of two."""
    chance = np.random.default_rng(record)
    word = (SPECIAL, *(k for k in range(size) for _ in range(2 if k % 3 == 2 else 1)), SPECIAL)
    ids = (2, *chance.integers(5, 50, len(word) - 2).tolist(), 3)
    tags = tags or tuple(chance.choice(list("BIO"), size))
    return Example(record, f"d{record}", ids, (0,) * len(ids), tuple(map(str, ids)), word, tuple("w" * size), {"tags": tags})


EXAMPLES = [example(record, size) for record, size in enumerate((5, 9, 3, 7, 7, 4))]


def slow_tags(model, document, plan=None):
    inputs = model_inputs(model, [document], PAD)
    with torch.no_grad(), watch(model, plan=plan) as session:
        session.batch(inputs["attention_mask"])
        best = model(**inputs).logits[0].argmax(-1)
    firsts = [k for k, word in enumerate(document.word) if word >= 0 and word != document.word[k - 1]]
    return "".join(TAGS[best[k]] for k in firsts)


def test_removals_are_ranked_on_development_and_equal_direct_answers():
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 16}
    size |= {"vocab_size": 60, "max_position_embeddings": 40, "pad_token_id": PAD, "num_labels": 3, "initializer_range": 0.5}
    tagger = BertForTokenClassification(BertConfig(**size)).eval().requires_grad_(False)
    install(tagger)
    card = ModelCard("m", "x", "bert", LAYERS, HEADS, 64, "[CLS]", "[SEP]", PAD, "", "pretrained", 0, "float32")
    table = removal(tagger, card, EXAMPLES[:3], EXAMPLES[3:], step=50, random_orders=2, seed=3)
    single = table[table["order"] == "one"]
    assert len(single) == (1 + LAYERS * HEADS) * len(EXAMPLES)
    for row in single.itertuples():
        plan = Plan().zero(row.layer, row.head) if row.layer else None
        assert row.answer == slow_tags(tagger, EXAMPLES[row.record], plan)
        assert row.expected == "".join(gold_tags(EXAMPLES[row.record]))
    assert not table.loc[table["order"] != "one", ["layer", "head"]].any(axis=None), "sets of heads are named by their number"
    # The order by hand: those whose removal helps most on development go first.
    f1 = {
        key: float(f1_of(np.sum([token_counts(*pair) for pair in zip(rows["answer"], rows["expected"], strict=True)], axis=0)))
        for key, rows in single[single["split"] == "development"].groupby(["layer", "head"])
    }
    del f1[0, 0]
    plan = Plan()
    for layer, head in sorted(f1, key=lambda key: (-f1[key], key))[:2]:
        plan = plan.zero(layer, head)
    for row in table[(table["order"] == "worst_to_best") & (table["count"] == 2)].itertuples():
        assert row.answer == slow_tags(tagger, EXAMPLES[row.record], plan)


def test_a_document_becomes_an_example_and_comes_back_from_parquet(tmp_path, tokenizer):
    builder = ExampleBuilder({"overlong": "drop", "stemmed": False}, "raw", WordPieces(tokenizer), 64)
    document = located("d", "the cats . a cat".split(), ["the cats", "dog"], stemmed=False)
    built = document_example(builder, document)
    assert built.layers["tags"] == tuple("BIOOO")
    assert built.keyphrases == (Keyphrase("the cats", True), Keyphrase("dog", False))
    write_examples(tmp_path / "e.parquet", [built])
    assert list(read_examples([tmp_path / "e.parquet"])) == [built]
    # Words without pieces are left out, and phrases go on.
    odd = "\u200b"
    document = KeyphraseDocument("d", ("the", odd, "cat", odd, "cats"), tuple("OBIIB"), ("x cat",), ())
    built = document_example(builder, document)
    assert (built.words, built.layers["tags"]) == (("the", "cat", "cats"), tuple("OBB"))


def test_a_tagger_learns_and_is_the_same_for_the_same_seed(tmp_path):
    entry = saved_base(tmp_path)
    # The key is always what follows "the".
    texts = {a: f"{b} the {a} {c} ." + " ." * "bcd".find(a) for a, b, c in ("bcd", "cdb", "dbc", "fgh", "ghf", "hfg")}
    lines = [json.dumps({"id": key, "text": text, "keyphrases": [key]}) + "\n" for key, text in texts.items()]
    (tmp_path / "raw.jsonl").write_text("".join(lines * 4))
    corpus = {"reader": "keyphrases", **KEYPHRASES, "overlong": "drop", **FILE_ORDER, "max_tokens": 16, "shard": 24}
    shard = tmp_path / "examples.parquet"
    build_shard(corpus, tmp_path / "raw.jsonl", tmp_path / "pieces.json", 64, 0, shard, tmp_path / "dropped.tsv")
    training = {"epochs": 8, "batch": 4, "learning_rate": 0.01, "warmup": 0.1, "weight_decay": 0.01, "seed": 1}
    training |= {"task": "tags", "regression": False, "optimiser": "adamw"}

    def tuned(name, **changes):
        settings = training | changes
        fine_tune(entry, tmp_path / "card.json", [shard], 24, settings, 1, tmp_path / name, tmp_path / f"{name}.tsv")
        return (tmp_path / name / "model.safetensors").read_bytes()

    assert tuned("a") == tuned("b")
    model = load_trained(entry | {"source": {"path": str(tmp_path / "a")}}, "tags")
    examples = list(read_examples([shard]))
    (answers,) = tags_under(model, examples, [], PAD)
    counts = np.sum([token_counts(a, "".join(gold_tags(e))) for a, e in zip(answers, examples, strict=True)], axis=0)
    assert f1_of(counts) > 0.8
    assert_parts_give_the_gradient_of_the_batch(lambda: tuned("c", dropout=0.0, batch=12))
