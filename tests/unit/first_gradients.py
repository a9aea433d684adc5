"""A tiny model to fine-tune; gradients of the first step, by how its batch is divided; a stop after some steps."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from small_tokenizer import save_tokenizer
from transformers import BertConfig, BertModel

from attention_atlas.models.fine_tuning import PARTS, PartsTrainer
from attention_atlas.models.loading import describe

MODULE, STEP = "attention_atlas.models.fine_tuning", "attention_atlas.models.fine_tuning.PartsTrainer.training_step"


def saved_base(folder: Path) -> dict[str, object]:
    """Registry entry of a tiny model that is saved in a folder, with its tokenizer, card (card.json) and word pieces."""
    save_tokenizer(folder / "tokenizer.json")
    config = {"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"unk_token": "[UNK]"}))
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=80, max_position_embeddings=64, **size)).save_pretrained(folder)
    entry = {"source": {"path": str(folder)}, "layers": 2, "heads": 2, "hidden_size": 32, "init": "pretrained", "seed": 0}
    entry["dtype"] = "float32"
    describe("tiny", entry, folder / "card.json", folder / "pieces.json")
    return entry


def first_gradients(fit: Callable[[], object], parts: Callable[[int], list[list[int]]]) -> tuple[torch.Tensor, float, int]:
    """All gradients in one row, the loss and the number of parts of the first step of `fit`, a training without dropout."""
    taken, step = [], PartsTrainer.training_step

    def first_step(self, model, inputs, num_items_in_batch=None):
        loss = step(self, model, inputs)
        gradients = [weights.grad.flatten() for weights in model.parameters() if weights.grad is not None]
        taken.append((torch.cat(gradients), loss.item(), len(inputs[PARTS])))
        raise StopIteration

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(STEP, first_step)
        patch.setattr(f"{MODULE}.parts_of_like_length", lambda lengths, pieces: parts(len(lengths)))
        with pytest.raises(StopIteration):
            fit()
    return taken[0]


def assert_parts_give_the_gradient_of_the_batch(fit: Callable[[], object], parts_with_targets: int = 3) -> None:
    """Train on a batch whole and in uneven parts, and compare."""
    whole, loss, _ = first_gradients(fit, lambda size: [list(range(size))])
    in_parts, loss_in_parts, count = first_gradients(fit, lambda size: [[size - 1], [0], list(range(1, size - 1))])
    assert count == parts_with_targets
    assert loss_in_parts == pytest.approx(loss, rel=1e-5)
    assert (in_parts - whole).norm() < 1e-5 * whole.norm()


def stop_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a training store its state after each epoch, and end in the step after `steps`: an exhausted iterator."""
    step, taken = PartsTrainer.training_step, iter(range(steps))
    monkeypatch.setattr(STEP, lambda *a, **o: (next(taken), step(*a, **o))[1])
    monkeypatch.setattr(f"{MODULE}.SECONDS_BETWEEN", 0)
