"""A decoder whose weights are set by hand, so that its heads have known properties."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2Model

VOCABULARY, POSITIONS = 40, 48
WIDTH = 2 * VOCABULARY + POSITIONS
PIECE, PLACE, BEFORE = slice(0, VOCABULARY), slice(VOCABULARY, VOCABULARY + POSITIONS), slice(VOCABULARY + POSITIONS, WIDTH)
"""Parts of the residual stream: the piece, its place, and the piece before it."""
SIZE = WIDTH // 2


def set_head(layer, head, **parts):
    """Weights of one head of GPT-2: from the residual stream [width, size] for query, key and value, and back [size, width]."""
    for number, name in enumerate(("query", "key", "value")):
        if name in parts:
            start = number * WIDTH + head * SIZE
            layer.attn.c_attn.weight[:, start : start + SIZE] = parts[name]
    layer.attn.c_proj.weight[head * SIZE : (head + 1) * SIZE] = parts["output"]


def into(part, shift=0, scale=1.0):
    """[width, size] a part of the residual stream, moved by some places, as the first values of a head."""
    matrix = torch.zeros(WIDTH, SIZE)
    count = part.stop - part.start
    for k in range(count):
        if 0 <= k + shift < count:
            matrix[part.start + k, k + shift] = scale
    return matrix


def empty_decoder(layers):
    """GPT-2 with two heads per layer that write nothing; the residual stream holds the piece and its place."""
    settings = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=POSITIONS,
        n_embd=WIDTH,
        n_layer=layers,
        n_head=2,
        n_inner=4,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2Model(settings)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.fill_(1)
        model.wte.weight[:, PIECE] = torch.eye(VOCABULARY)
        model.wpe.weight[:, PLACE] = torch.eye(POSITIONS)
    return model
