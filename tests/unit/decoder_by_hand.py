"""A decoder whose weights are set by hand, so that its heads have known properties."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2Model

VOCABULARY, POSITIONS = 40, 48
WIDTH = 2 * VOCABULARY + POSITIONS
PIECE, PLACE, BEFORE = slice(0, VOCABULARY), slice(VOCABULARY, VOCABULARY + POSITIONS), slice(VOCABULARY + POSITIONS, WIDTH)
"""Parts of the residual stream: the piece, its place, and the piece before it."""
SIZE = WIDTH // 2


def set_head(layer, head, output=None, **parts):
    """Weights of one head of GPT-2: from the residual stream [WIDTH, SIZE] for query, key and value, and back [SIZE, WIDTH]."""
    width = layer.attn.split_size
    for number, name in enumerate(("query", "key", "value")):
        if name in parts:
            start = number * width + head * SIZE
            layer.attn.c_attn.weight[:, start : start + SIZE] = 0
            layer.attn.c_attn.weight[:WIDTH, start : start + SIZE] = parts[name]
    if output is not None:
        layer.attn.c_proj.weight[head * SIZE : (head + 1) * SIZE] = 0
        layer.attn.c_proj.weight[head * SIZE : (head + 1) * SIZE, :WIDTH] = output


def into(part, shift=0, scale=1.0):
    """[width, size] a part of the residual stream, moved by some places, as the first values of a head."""
    matrix = torch.zeros(WIDTH, SIZE)
    count = part.stop - part.start
    for k in range(count):
        if 0 <= k + shift < count:
            matrix[part.start + k, k + shift] = scale
    return matrix


def empty_decoder(layers, heads=2, spread=0.02):
    """GPT-2 with heads that write nothing; the residual stream holds the piece and its place. `spread` of random weights."""
    shape = {"vocab_size": VOCABULARY, "n_positions": POSITIONS, "n_embd": heads * SIZE, "n_layer": layers, "n_head": heads}
    model = GPT2Model(GPT2Config(**shape, initializer_range=spread, n_inner=4, bos_token_id=0, eos_token_id=0))
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.fill_(1)
        model.wte.weight[:, PIECE] = torch.eye(VOCABULARY)
        model.wpe.weight[:, PLACE] = torch.eye(POSITIONS)
    return model
