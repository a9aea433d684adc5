"""Tiny models of the common architectures, with random weights made from a seed: nothing is downloaded.

All have `HEADS` heads per layer and `LAYERS` layers (ALBERT has 4 from 2 groups, the Marian decoder 2). Initial weights are
larger than usual, so that attention is far from uniform and differences show.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
import transformers as tf
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from attention_atlas.attention.engine import Observer, Plan, Site, attention_shape, install, watch
from attention_atlas.models.language_models import HeadFacts, LanguageModel

VOCABULARY = 60
LAYERS = 3
HEADS = 4
WIDTH = 16
PAD = 1
FIRST_WORD = 5  # the smallest piece id that no architecture uses as a special token here
LENGTHS = (9, 5, 7)  # tokens of the examples in `batch_for`
_SPREAD = 0.3
_BERT_LIKE = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 2 * WIDTH,
    "max_position_embeddings": 40,
    "pad_token_id": PAD,
    "initializer_range": _SPREAD,
}
_DISTILBERT = {"vocab_size": VOCABULARY, "dim": WIDTH, "hidden_dim": 2 * WIDTH, "n_layers": LAYERS, "n_heads": HEADS}
_DISTILBERT |= {"max_position_embeddings": 40, "pad_token_id": PAD, "initializer_range": _SPREAD}
_GPT2 = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 40}
_GPT2 |= {"initializer_range": _SPREAD, "bos_token_id": 2, "eos_token_id": 2}
_MARIAN = {"vocab_size": VOCABULARY, "d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": 2, "init_std": _SPREAD}
_MARIAN |= {f"{side}_attention_heads": HEADS for side in ("encoder", "decoder")}
_MARIAN |= {f"{side}_ffn_dim": 2 * WIDTH for side in ("encoder", "decoder")}
_MARIAN |= {"max_position_embeddings": 40, "pad_token_id": PAD, "decoder_start_token_id": PAD, "eos_token_id": 2}
_BUILDERS = {
    "bert": lambda: tf.BertModel(tf.BertConfig(**_BERT_LIKE)),
    "bert_mlm": lambda: tf.BertForMaskedLM(tf.BertConfig(**_BERT_LIKE)),
    "bert_classifier": lambda: tf.BertForSequenceClassification(tf.BertConfig(**_BERT_LIKE, num_labels=3)),
    "roberta": lambda: tf.RobertaModel(tf.RobertaConfig(**_BERT_LIKE)),
    "electra": lambda: tf.ElectraModel(tf.ElectraConfig(**_BERT_LIKE, embedding_size=8)),
    "albert": lambda: tf.AlbertModel(
        tf.AlbertConfig(**_BERT_LIKE | {"num_hidden_layers": 4}, embedding_size=8, num_hidden_groups=2)
    ),
    "distilbert": lambda: tf.DistilBertModel(tf.DistilBertConfig(**_DISTILBERT)),
    "gpt2": lambda: tf.GPT2Model(tf.GPT2Config(**_GPT2)),
    "llama": lambda: tf.LlamaModel(tf.LlamaConfig(**_BERT_LIKE, num_key_value_heads=HEADS // 2)),
    "marian": lambda: tf.MarianMTModel(tf.MarianConfig(**_MARIAN, forced_eos_token_id=None)),
}

ENCODERS = ("bert", "roberta", "electra", "distilbert", "albert")
DECODERS = ("gpt2", "llama")
ARCHITECTURES = (*ENCODERS, *DECODERS, "marian")


def tiny(name: str, implementation: str = "eager", seed: int = 0) -> PreTrainedModel:
    """A tiny model (one of `_BUILDERS`) in eval mode; the same name and seed always give the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _BUILDERS[name]().eval()
        for parameter_name, parameter in model.named_parameters():
            # Value biases start at zero; random ones show whether an ablation takes them away too.
            if parameter_name.endswith("bias"):
                torch.nn.init.normal_(parameter, std=_SPREAD)
    model.set_attn_implementation(implementation)
    return model


def pieces(batch: int, length: int, seed: int = 0) -> torch.Tensor:
    """Random piece ids [batch, length] without special tokens."""
    return torch.randint(FIRST_WORD, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def padded(examples: list[torch.Tensor], side: str = "right") -> dict[str, torch.Tensor]:
    """`input_ids` and `attention_mask` [batch, longest] of examples [length], padded on one side."""
    pad = partial(pad_sequence, batch_first=True, padding_side=side)
    masks = [torch.ones(len(example), dtype=torch.long) for example in examples]
    return {"input_ids": pad(examples, padding_value=PAD), "attention_mask": pad(masks)}


def batch_for(name: str, side: str = "right") -> dict[str, torch.Tensor]:
    """The inputs of the model `name` for a padded batch of examples of `LENGTHS`; the same for Marian's decoder side."""
    batch = padded([pieces(1, length, seed=length)[0] for length in LENGTHS], side)
    if name == "marian":
        target = padded([pieces(1, length, seed=20 + length)[0] for length in (4, 6, 3)], side)
        batch |= {"decoder_" + key: value for key, value in target.items()}
    elif side == "left" and name in DECODERS:
        batch["position_ids"] = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    return batch


def run(
    model: nn.Module,
    batch: dict[str, torch.Tensor],
    observers: Sequence[Observer] = (),
    plan: Plan | None = None,
    applied: Sequence[Observer] = (),
    **options: object,
) -> ModelOutput:
    """One forward pass within a session that knows the masks of the batch, without gradients."""
    facts = {key: value for key, value in batch.items() if key.endswith("attention_mask")}
    with torch.no_grad(), watch(model, observers, plan, applied) as session:
        session.batch(**facts)
        return model(**batch, **options)


def main_output(output: ModelOutput) -> torch.Tensor:
    """Logits of models that have them, else the last hidden states."""
    return output.logits if "logits" in output else output.last_hidden_state


def installed(name: str, seed: int = 0) -> PreTrainedModel:
    """The tiny model `name` with the engine installed."""
    model = tiny(name, seed=seed)
    install(model)
    return model


def masked_model() -> LanguageModel:
    """The tiny masked-LM model with the engine installed, its weights fixed."""
    return LanguageModel(installed("bert_mlm").requires_grad_(False), None, HeadFacts("checkpoint"))


def recorder(into: dict[Site, torch.Tensor]) -> Observer:
    """An observer that keeps every map."""
    return lambda site, probabilities: into.__setitem__(site, probabilities)


def plan_for(model: nn.Module, action: str, heads: int | list[int]) -> Plan:
    """The plan that does `action` to the same heads (from 1) of every layer of every kind."""
    plan = Plan()
    for where, (layers, _) in attention_shape(model).items():
        for layer in range(1, layers + 1):
            plan = getattr(plan, action)(layer, heads, where=where)
    return plan


def saved_model(model: PreTrainedModel, folder: Path) -> dict[str, object]:
    """Registry entry of a model that is saved in a folder."""
    model.save_pretrained(folder)
    return {"source": {"path": str(folder)}, "init": "pretrained", "seed": 0, "dtype": "float32"}
