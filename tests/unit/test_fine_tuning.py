"""Fine-tuning by the Trainer: a tiny model learns, the checkpoint is whole and the same for the same seed."""

from __future__ import annotations

import hashlib
import json
import logging

import pandas as pd
import pytest
import torch
import transformers
from first_gradients import assert_parts_give_the_gradient_of_the_batch
from safetensors.torch import load_file
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer
from transformers import BertConfig, BertModel

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models import fine_tuning
from attention_atlas.models.card import read_card
from attention_atlas.models.fine_tuning import CHECKPOINT, PartsTrainer, fine_tune, label_names, order_of_batches
from attention_atlas.models.loading import describe, load_trained, locate

TRAINING = {
    "epochs": 6,
    "batch": 4,
    "learning_rate": 0.01,
    "warmup": 0.1,
    "weight_decay": 0.01,
    "seed": 1,
    "task": "questions",
    "optimiser": "adamw",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A tiny model with its tokenizer, card, and questions whose answer is always the word after "the"."""
    folder = tmp_path_factory.mktemp("base")
    save_tokenizer(folder / "tokenizer.json")
    config = {"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"unk_token": "[UNK]"}))
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=80, max_position_embeddings=64, **size)).save_pretrained(folder)
    shape = {"layers": 2, "heads": 2, "hidden_size": 32}
    entry = {"source": {"path": str(folder)}, **shape, "init": "pretrained", "seed": 0, "dtype": "float32"}
    describe("tiny", entry, folder / "card.json", folder / "pieces.json")
    letters = "bcdfghjk"
    questions = [
        {"context": f"{a} {b} the {c} {a}", "question": "what cat?", "answer": c}
        for a, b, c in zip(letters, letters[1:] + letters[0], letters[3:] + letters[:3], strict=True)
    ]
    (folder / "raw.json").write_text(json.dumps(questions))
    corpus = {"reader": "squad", **FILE_ORDER, "windows": "all", "stride": 4, "max_tokens": 16, "shard": 40}
    build_shard(corpus, folder / "raw.json", folder / "pieces.json", 64, 0, folder / "examples.parquet", folder / "dropped.tsv")
    return folder, entry


def train(base, folder, code="", **changed):
    source, entry = base
    examples, out = [source / "examples.parquet"], (folder / "checkpoint", folder / "summary.tsv")
    fine_tune(entry, source / "card.json", examples, 100, TRAINING | changed, 1, *out, code=code)
    return folder / "checkpoint"


def test_the_checkpoint_is_whole_and_the_loss_falls(base, tmp_path):
    folder = train(base, tmp_path)
    assert sorted(p.name for p in folder.iterdir()) == sorted(CHECKPOINT)
    summary = pd.read_csv(tmp_path / "summary.tsv", sep="\t")
    assert summary["loss"].iloc[-1] < summary["loss"].iloc[0] - 0.2
    assert summary["epoch"].iloc[-1] == pytest.approx(6, abs=0.5)
    entry = base[1] | {"source": {"path": str(folder)}}
    load_trained(entry, "questions")
    describe("tiny-squad", entry, tmp_path / "card.json", tmp_path / "tokenizer.json")


def test_without_dropout_the_seed_of_the_masks_changes_nothing(base, tmp_path, monkeypatch):
    """Two trainings that differ in their random masks alone: equal weights only where nothing is masked."""

    def weights(dropout, folder):
        masks = iter(range(1000))
        forward = torch.nn.Dropout.forward

        def other_mask(self, x):
            if folder.endswith("two"):
                torch.manual_seed(next(masks))
            return forward(self, x)

        monkeypatch.setattr(torch.nn.Dropout, "forward", other_mask)
        changed = {} if dropout is None else {"dropout": dropout}
        trained = train(base, tmp_path / f"{dropout}-{folder}", epochs=1, **changed)
        monkeypatch.undo()
        return (trained / "model.safetensors").read_bytes(), json.loads((trained / "config.json").read_text())

    (one, settings), (two, _) = weights(0.0, "one"), weights(0.0, "two")
    assert one == two
    assert {settings[name] for name in ("hidden_dropout_prob", "attention_probs_dropout_prob")} == {0.0}
    (one, settings), (two, _) = weights(None, "one"), weights(None, "two")
    assert one != two
    assert settings["hidden_dropout_prob"] == BertConfig().hidden_dropout_prob


@pytest.mark.parametrize("freeze", [False, True])
def test_frozen_word_embeddings_keep_their_values_and_all_else_is_trained(base, tmp_path, freeze):
    before = load_file(locate(base[1]) / "model.safetensors")
    trained = load_file(train(base, tmp_path, epochs=1, freeze_word_embeddings=freeze) / "model.safetensors")
    after = {name.removeprefix("bert."): values for name, values in trained.items()}
    assert before.keys() - after.keys() == {"pooler.dense.bias", "pooler.dense.weight"}
    unchanged = {name for name in before.keys() & after.keys() if torch.equal(after[name], before[name])}
    assert unchanged == ({"embeddings.word_embeddings.weight"} if freeze else set())


@pytest.mark.parametrize(
    ("changed", "order", "strategy"), [({}, "by_length", "group_by_length"), ({"batches": "random"}, "random", "random")]
)
def test_the_order_of_batches_is_a_choice_that_the_card_names(base, tmp_path, monkeypatch, changed, order, strategy):
    strategies = []
    trained = transformers.Trainer.train

    def train_and_note(trainer, **options):
        strategies.append(trainer.args.train_sampling_strategy)
        return trained(trainer, **options)

    monkeypatch.setattr(transformers.Trainer, "train", train_and_note)
    folder = train(base, tmp_path, epochs=1, **changed)
    describe("tiny", base[1] | {"source": {"path": str(folder)}}, tmp_path / "card.json", tmp_path / "tokenizer.json")
    assert strategies == [strategy]
    assert read_card(tmp_path / "card.json").batches == order
    assert read_card(base[0] / "card.json").batches == ""
    assert order_of_batches({"task": "translation", **changed}) == "random"


def test_weights_kept_in_half_precision_take_half_the_room(base, tmp_path):
    whole, half = (train(base, tmp_path / name, epochs=1, stored_dtype=name) for name in ("float32", "float16"))
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (whole, half)]
    assert sizes[1] < 0.6 * sizes[0]
    models = [load_trained(base[1] | {"source": {"path": str(folder)}}, "questions") for folder in (whole, half)]
    for one, two in zip(*(model.parameters() for model in models), strict=True):
        assert one.dtype == two.dtype == torch.float32
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


def test_the_same_seed_gives_the_same_weights(base, tmp_path):
    def digest(name, **changed):
        folder = train(base, tmp_path / name, epochs=1, **changed)
        return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()

    assert digest("a") == digest("b") != digest("c", seed=2)


@pytest.fixture(scope="module")
def pairs(base, tmp_path_factory):
    """Labelled pairs: a class each, or a score each, which the letter of the second text gives away."""
    folder = tmp_path_factory.mktemp("pairs")
    letters = "bcdfghjkbcdfghjk"
    for task, header, labels in (
        ("rte", "index\tsentence1\tsentence2\tlabel", ("no", "yes")),
        ("stsb", "index\tsentence1\tsentence2\tscore", ("1", "4.5")),
    ):
        rows = [
            f"{k}\tthe cat {a}\tthe {b}\t{labels[b in 'bcdf']}"
            for k, (a, b) in enumerate(zip(letters, letters[::-1], strict=True))
        ]
        rows += [f"{k + 16}\tthe cat {a}\tthe {'bcdf'[k % 4]}\t{labels[1]}" for k, a in enumerate(letters)]
        (folder / f"{task}.tsv").write_text("\n".join([header, *rows]) + "\n")
        entry = {"reader": "glue", "task": task, "overlong": "drop", **FILE_ORDER, "max_tokens": 16, "shard": 40}
        out = (folder / f"{task}.parquet", folder / f"{task}.dropped.tsv")
        build_shard(entry, folder / f"{task}.tsv", base[0] / "pieces.json", 64, 0, *out)
    return folder


@pytest.mark.parametrize(("task", "names"), [("rte", {0: "no", 1: "yes"}), ("stsb", None)])
def test_labels_and_scores_are_learnt(base, pairs, tmp_path, task, names):
    source, entry = base
    training = TRAINING | {"task": "labels", "regression": task == "stsb", "epochs": 20}
    checkpoint, summary = tmp_path / "checkpoint", tmp_path / "summary.tsv"
    fine_tune(entry, source / "card.json", [pairs / f"{task}.parquet"], 100, training, 1, checkpoint, summary)
    settings = json.loads((checkpoint / "config.json").read_text())
    assert settings["architectures"] == ["BertForSequenceClassification"]
    if names:
        assert {int(key): name for key, name in settings["id2label"].items()} == names
    loss = pd.read_csv(summary, sep="\t")["loss"]
    assert loss.iloc[-1] < loss.iloc[0] - 0.1
    # The encoder below the head is what the other jobs load.
    describe("tiny-labels", entry | {"source": {"path": str(checkpoint)}}, tmp_path / "card.json", tmp_path / "tokenizer.json")


@pytest.mark.parametrize("task", ["rte", "stsb"])
def test_parts_of_a_batch_give_its_gradient_with_classes_and_scores(base, pairs, tmp_path, task):
    source, entry = base
    training = TRAINING | {"task": "labels", "regression": task == "stsb", "dropout": 0.0}
    outs = tmp_path / "checkpoint", tmp_path / "summary.tsv"
    assert_parts_give_the_gradient_of_the_batch(
        lambda: fine_tune(entry, source / "card.json", [pairs / f"{task}.parquet"], 100, training, 1, *outs)
    )


def test_parts_of_a_batch_give_its_gradient_with_questions(base, tmp_path):
    assert_parts_give_the_gradient_of_the_batch(lambda: train(base, tmp_path, dropout=0.0))


def test_one_label_is_nothing_to_learn(base, pairs, tmp_path):
    examples = list(read_examples([pairs / "rte.parquet"]))
    with pytest.raises(AtlasError, match="all 16 examples have the label 'yes'"):
        label_names([e for e in examples if e.record >= 16], False)
    with pytest.raises(AtlasError, match="have no labels"):
        label_names(list(read_examples([base[0] / "examples.parquet"])), False)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, r"diverged: at step 2 the loss is not finite\. Lower learning_rate \(1e\+30\)\."),
        ({"optimiser": "bert_adam"}, r"diverged: at step 2 .*learning_rate \(1e\+30\)"),
        ({"epochs": 1, "batch": 8, "warmup": 0}, "diverged: at the end the loss is not finite"),
        (
            {"epochs": 1, "batch": 8, "warmup": 0, "learning_rate": 1e5, "stored_dtype": "float16"},
            r"diverged: 35 of 39 weights are not finite \(.*\.\.\.\)\. Lower learning_rate \(100000\)\.",
        ),
    ],
)
def test_a_training_that_diverges_is_an_error(base, tmp_path, changed, message):
    with pytest.raises(AtlasError, match=message):
        train(base, tmp_path, **{"learning_rate": 1e30, "warmup": 0} | changed)
    assert not (tmp_path / "checkpoint/model.safetensors").exists()
    assert not (tmp_path / "summary.tsv").exists()


def test_nothing_to_train_on_is_said(base, tmp_path):
    source, entry = base
    with pytest.raises(AtlasError, match="nothing to train on"):
        fine_tune(entry, source / "card.json", [], 100, TRAINING, 1, tmp_path / "checkpoint", tmp_path / "summary.tsv")
    assert not (tmp_path / "summary.tsv").exists()


class Stopped(Exception):
    """In place of a signal that ends the job."""


def stop_after(steps, monkeypatch):
    """Let a training store its state after each epoch, and end in the step after `steps`."""
    step, taken = PartsTrainer.training_step, iter(range(steps))

    def counted(self, *arguments, **options):
        if next(taken, None) is None:
            raise Stopped
        return step(self, *arguments, **options)

    monkeypatch.setattr(PartsTrainer, "training_step", counted)
    monkeypatch.setattr(fine_tuning, "SECONDS_BETWEEN", 0)


def outputs(folder):
    return load_file(folder / "checkpoint/model.safetensors"), (folder / "summary.tsv").read_bytes()


def assert_same(one, two):
    assert one[0].keys() == two[0].keys()
    assert [name for name, values in one[0].items() if not torch.equal(values, two[0][name])] == []
    assert one[1] == two[1]


def states_of(folder):
    return sorted(path.name for path in (folder / "training_state").glob("*/checkpoint-*"))


# Four steps per epoch: stopped in the first epoch, after it, in the second one and in a later one.
@pytest.mark.parametrize(("optimiser", "batches"), [("adamw", "by_length"), ("bert_adam", "random")])
@pytest.mark.parametrize("steps", [2, 4, 7, 14])
def test_a_stopped_training_goes_on_to_the_same_weights(base, tmp_path, monkeypatch, caplog, steps, optimiser, batches):
    changed = {"batch": 2, "epochs": 12, "batches": batches, "optimiser": optimiser}
    train(base, tmp_path / "whole", **changed)
    assert not (tmp_path / "whole/training_state").exists()
    stop_after(steps, monkeypatch)
    with pytest.raises(Stopped):
        train(base, tmp_path / "stopped", **changed)
    stored = steps // 4 * 4
    assert states_of(tmp_path / "stopped") == ([f"checkpoint-{stored}"] if stored else [])
    assert not (tmp_path / "stopped/checkpoint/model.safetensors").exists()
    monkeypatch.undo()
    calls = []
    step = PartsTrainer.training_step
    monkeypatch.setattr(PartsTrainer, "training_step", lambda *a, **o: calls.append(1) or step(*a, **o))
    with caplog.at_level(logging.INFO):
        train(base, tmp_path / "stopped", **changed)
    assert (f"continuing after step {stored}" in caplog.text) == (stored > 0)
    assert len(calls) == 12 * 4 - stored
    assert_same(outputs(tmp_path / "whole"), outputs(tmp_path / "stopped"))
    assert not (tmp_path / "stopped/training_state").exists()


def test_a_training_can_be_stopped_again_and_again(base, tmp_path, monkeypatch):
    """Stopped at the end of the first epoch, in the second and third one, and after the last one."""
    train(base, tmp_path / "whole", batch=2)
    for steps in (4, 6, 1, 5):
        with monkeypatch.context() as stopping:
            stop_after(steps, stopping)
            with pytest.raises(Stopped):
                train(base, tmp_path / "stopped", batch=2)
    with monkeypatch.context() as stopping:
        stopping.setattr(fine_tuning, "SECONDS_BETWEEN", 0)
        stopping.setattr(fine_tuning, "check_weights", None)
        with pytest.raises(TypeError):
            train(base, tmp_path / "stopped", batch=2)
    assert states_of(tmp_path / "stopped") == ["checkpoint-24"]
    train(base, tmp_path / "stopped", batch=2)
    assert_same(outputs(tmp_path / "whole"), outputs(tmp_path / "stopped"))


@pytest.mark.parametrize(
    ("spoil", "changed"),
    [
        # Killed while the Trainer stored its state.
        (lambda state: (state / "trainer_state.json").unlink(), {}),
        (lambda state: None, {"learning_rate": 0.02}),
        (lambda state: None, {"code": "b"}),
    ],
)
def test_an_incomplete_state_and_that_of_another_training_are_not_used(base, tmp_path, monkeypatch, caplog, spoil, changed):
    with monkeypatch.context() as stopping:
        stop_after(6, stopping)
        with pytest.raises(Stopped):
            train(base, tmp_path / "stopped", code="a", batch=2)
    spoil(next((tmp_path / "stopped/training_state").glob("*/checkpoint-4")))
    changed = {"code": "a", "batch": 2} | changed
    train(base, tmp_path / "stopped", **changed)
    assert "continuing" not in caplog.text
    train(base, tmp_path / "whole", **changed)
    assert_same(outputs(tmp_path / "whole"), outputs(tmp_path / "stopped"))


def test_a_short_training_stores_no_state(base, tmp_path, monkeypatch):
    monkeypatch.setattr(PartsTrainer, "_save_checkpoint", None)
    train(base, tmp_path)
