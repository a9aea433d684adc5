"""Masking a head in five ways: lines, the right head on three architectures, time and memory beside the plain pass.

nnsight and TransformerLens take part where they are installed: `pip install '.[workflow]' nnsight transformer_lens`. A way
takes a model, tokens and the name of the layer's output projection.
"""

import copy
import importlib.util
import inspect
import re
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, models

from attention_atlas.attention.engine import install, watch
from attention_atlas.attention.plans import Plan
from benchmarks.timing import in_process, report, side_by_side

LAYERS, HEADS, SIZE, LAYER, HEAD = 6, 12, 32, 3, 5
PART = slice((HEAD - 1) * SIZE, HEAD * SIZE)
SHAPE = {"vocab_size": 2000, "hidden_size": HEADS * SIZE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
SHAPE |= {"intermediate_size": 4 * HEADS * SIZE, "initializer_range": 0.1, "num_key_value_heads": 4, "embedding_size": 128}
MODELS: dict[Any, str] = {
    tf.BertForMaskedLM: "bert.encoder.layer.2.attention.output.dense",
    tf.LlamaForCausalLM: "model.layers.2.self_attn.o_proj",  # heads share keys and values
    tf.AlbertForMaskedLM: "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense",  # layers share weights
}
Way = Callable[[], torch.Tensor]


def passed(context: Any, model: Any, ids: torch.Tensor) -> torch.Tensor:
    with context:
        return model(ids).logits


def engine(model: Any, ids: torch.Tensor, name: str) -> Way:
    install(model)
    return lambda: passed(watch(model, plan=Plan().zero(LAYER, HEAD), fused=True), model, ids)


def hooks(model: Any, ids: torch.Tensor, name: str) -> Way:
    def zero(_: Any, inputs: tuple[torch.Tensor]) -> None:
        inputs[0][..., PART] = 0

    return lambda: passed(model.get_submodule(name).register_forward_pre_hook(zero), model, ids)


def copies(model: Any, ids: torch.Tensor, name: str) -> Way:
    def changed() -> Any:
        copied = copy.deepcopy(model)
        copied.get_submodule(name).weight.data[:, PART] = 0
        return copied

    return lambda: changed()(ids).logits


def nnsight(model: Any, ids: torch.Tensor, name: str) -> Way:
    wrapped, path = importlib.import_module("nnsight").NNsight(model), name.replace(".output", ".E_output")

    def masked() -> torch.Tensor:
        with wrapped.trace(input_ids=ids):
            wrapped.get(path).input[..., PART] = 0
            logits = wrapped.output.logits.save()
        return logits

    return masked


def transformer_lens(model: Any, ids: torch.Tensor, name: str) -> Way:
    def zero(outputs: torch.Tensor, hook: Any) -> None:
        outputs[:, :, HEAD - 1] = 0

    words = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="a", bos_token="b", eos_token="b")
    with tempfile.TemporaryDirectory() as folder:
        for part in (model, tokenizer):
            part.save_pretrained(folder)
        bridge = importlib.import_module("transformer_lens.model_bridge").TransformerBridge.boot_transformers(folder)
    return lambda: bridge.run_with_hooks(ids, fwd_hooks=[(f"blocks.{LAYER - 1}.attn.hook_z", zero)])


WAYS = [engine, hooks, copies, *(way for way in (nnsight, transformer_lens) if importlib.util.find_spec(way.__name__))]


def built(kind: Any) -> tuple[Any, torch.Tensor, Way]:
    """A model, tokens, and the right way: by hooks, on a copy in which each layer has weights of its own."""
    torch.manual_seed(0)
    groups = {"num_hidden_groups": LAYERS} if kind is tf.AlbertForMaskedLM else {}
    model, apart = (kind(kind.config_class(**SHAPE, **extra)).eval() for extra in ({}, groups))
    weights, ids = model.state_dict(), torch.randint(5, 2000, (8, 64))
    apart.load_state_dict({key: weights[re.sub(r"groups\.\d", "groups.0", key)] for key in apart.state_dict()})
    return model, ids, hooks(apart, ids, MODELS[kind].replace("groups.0", f"groups.{LAYER - 1}"))


@torch.no_grad()
def once(way: str) -> None:
    model, ids, right = built(tf.BertForMaskedLM)
    (globals()[way](model, ids, MODELS[tf.BertForMaskedLM]) if way else right)()


@torch.no_grad()
def run() -> None:
    """Print the largest difference from the right logits by architecture, then time, lines and memory on BERT."""
    torch.set_num_threads(2)
    for kind, name in MODELS.items():
        model, ids, right = built(kind)
        print(f"{kind.__name__}: the head changes logits by up to {(right() - model(ids).logits).abs().max():.2g}")
        for way in WAYS:
            try:
                print(f"  {way.__name__}: {(way(copy.deepcopy(model), ids, name)() - right()).abs().max():.2g}")
            except ValueError as error:  # an architecture that TransformerLens does not know
                print(f"  {way.__name__}: {str(error)[:60]}")
    model, ids, _ = built(tf.BertForMaskedLM)
    timed: dict[str, Callable[[], object]] = {"plain pass": lambda: model(ids)}
    timed |= {way.__name__: way(copy.deepcopy(model), ids, MODELS[tf.BertForMaskedLM]) for way in WAYS}
    report(side_by_side(timed, 10), "plain pass")
    least = in_process("heads", "once('')")[-1]
    for way in WAYS:
        lines = sum(bool(line.strip()) for line in inspect.getsource(way).splitlines()[1:])
        memory = in_process("heads", f"once({way.__name__!r})")[-1] - least
        print(f"{way.__name__}: {lines} lines, {memory:.0f} MiB more at the peak")
