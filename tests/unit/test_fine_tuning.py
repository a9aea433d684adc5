"""Fine-tuning by the Trainer: a tiny model learns, the checkpoint is whole and the same for the same seed."""

import json
import logging

import pandas as pd
import pytest
from first_gradients import assert_parts_give_the_gradient_of_the_batch, saved_base, stop_after
from small_entries import FILE_ORDER

from attention_atlas.corpora.examples import build_shard
from attention_atlas.errors import AtlasError
from attention_atlas.models.fine_tuning import fine_tune

TRAINING = {"epochs": 6, "batch": 4, "learning_rate": 0.01, "warmup": 0.1, "weight_decay": 0.01, "seed": 1}
TRAINING |= {"task": "questions", "optimiser": "adamw"}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A tiny model with its tokenizer, card, and questions whose answer is always the word after "the"."""
    folder = tmp_path_factory.mktemp("base")
    entry = saved_base(folder)
    letters = "bcdfghjk"
    questions = [
        {"context": f"{a} {b} the {c} {a}", "question": "what cat?", "answer": c}
        for a, b, c in zip(letters, letters[1:] + letters[0], letters[3:] + letters[:3], strict=True)
    ]
    (folder / "raw.json").write_text(json.dumps(questions))
    corpus = {"reader": "squad", **FILE_ORDER, "windows": "all", "stride": 4, "max_tokens": 16, "shard": 40}
    build_shard(corpus, folder / "raw.json", folder / "pieces.json", 64, 0, folder / "examples.parquet", folder / "dropped.tsv")
    return folder, entry


def train(base, folder, code="", examples="examples", **changed):
    source, entry = base
    files, out = [source / f"{examples}.parquet"], (folder / "checkpoint", folder / "summary.tsv")
    fine_tune(entry, source / "card.json", files, 100, TRAINING | changed, 1, *out, code=code)
    return folder / "checkpoint"


def outputs(folder):
    return (folder / "checkpoint/model.safetensors").read_bytes(), (folder / "summary.tsv").read_bytes()


def test_the_loss_falls_and_the_same_seed_gives_the_same_weights(base, tmp_path):
    train(base, tmp_path / "a")
    summary = pd.read_csv(tmp_path / "a/summary.tsv", sep="\t")
    assert summary["loss"].iloc[-1] < summary["loss"].iloc[0] - 0.2
    train(base, tmp_path / "b")
    train(base, tmp_path / "c", seed=2)
    assert outputs(tmp_path / "a") == outputs(tmp_path / "b")
    assert outputs(tmp_path / "a")[0] != outputs(tmp_path / "c")[0]


@pytest.mark.parametrize(("task", "score"), [("rte", "label"), ("stsb", "score")])
def test_classes_and_scores_are_learnt_also_in_parts(base, tmp_path, task, score):
    """The letter of the second text of a pair determines its class or score."""
    labels = ("no", "yes") if task == "rte" else ("1", "4.5")
    pairs = zip("kjhgfdcbbcdfghjkkjhgfdcb", "bcdfghjkkjhgfdcbbcdfbcdf", strict=True)
    rows = [f"{k}\tthe cat {a}\tthe {b}\t{labels[b in 'bcdf']}" for k, (a, b) in enumerate(pairs)]
    (tmp_path / "raw.tsv").write_text("\n".join([f"index\tsentence1\tsentence2\t{score}", *rows]) + "\n")
    corpus = {"reader": "glue", "task": task, "overlong": "drop", **FILE_ORDER, "max_tokens": 16, "shard": 40}
    build_shard(corpus, tmp_path / "raw.tsv", base[0] / "pieces.json", 64, 0, base[0] / "pairs.parquet", tmp_path / "d.tsv")
    options = {"examples": "pairs", "task": "labels", "regression": task == "stsb"}
    settings = json.loads((train(base, tmp_path, epochs=12, **options) / "config.json").read_text())
    assert task == "stsb" or settings["id2label"] == {"0": "no", "1": "yes"}
    loss = pd.read_csv(tmp_path / "summary.tsv", sep="\t")["loss"]
    assert loss.iloc[-1] < loss.iloc[0] - 0.1
    assert_parts_give_the_gradient_of_the_batch(lambda: train(base, tmp_path / "parts", dropout=0.0, **options))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"optimiser": "bert_adam"}, r"at step 2 the loss is not finite\. Lower learning_rate \(1e\+30\)"),
        ({"epochs": 1, "batch": 8}, "at the end the loss is not finite"),
    ],
)
def test_a_training_that_diverges_is_an_error(base, tmp_path, changed, message):
    with pytest.raises(AtlasError, match=message):
        train(base, tmp_path, **{"learning_rate": 1e30, "warmup": 0} | changed)
    assert not (tmp_path / "checkpoint/model.safetensors").exists()


@pytest.mark.parametrize(
    ("steps", "missing", "changed", "goes_on"),
    [
        # Four steps per epoch. The job may be killed while the Trainer stores its state.
        (7, None, {}, True),
        (4, None, {"optimiser": "bert_adam", "batches": "random", "stored_dtype": "float16"}, True),
        pytest.param(6, "trainer_state.json", {}, False, marks=pytest.mark.long),
        (6, None, {"code": "b"}, False),
    ],
)
def test_a_stopped_training_goes_on_to_the_same_weights(base, tmp_path, monkeypatch, caplog, steps, missing, changed, goes_on):
    before = {"code": "a", "batch": 2, "epochs": 3} | (changed if goes_on else {})
    with monkeypatch.context() as stopping:
        stop_after(steps, stopping)
        with pytest.raises(StopIteration):
            train(base, tmp_path / "stopped", **before)
    if missing:
        next((tmp_path / "stopped/training_state").glob(f"*/checkpoint-4/{missing}")).unlink()
    with caplog.at_level(logging.INFO):
        train(base, tmp_path / "stopped", **before | changed)
    assert (f"continuing after step {steps // 4 * 4}" in caplog.text) == goes_on
    train(base, tmp_path / "whole", **before | changed)
    assert outputs(tmp_path / "whole") == outputs(tmp_path / "stopped")
