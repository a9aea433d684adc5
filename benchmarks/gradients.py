"""Gradients by all attention weights: one backward pass for all layers, against training passes and one pass per layer."""

from __future__ import annotations

import torch
from transformers import BertConfig, BertForMaskedLM

from attention_atlas.attention.batches import model_inputs
from attention_atlas.attention.engine import install
from attention_atlas.models.language_models import HeadFacts, LanguageModel, mask_pieces
from attention_atlas.studies.clark2019.gradients import attention_gradients
from benchmarks.shapes import LENGTH, examples_of
from benchmarks.timing import report, side_by_side

LAYERS = 6


def run() -> None:
    """Print the ratios; both ways of taking gradients must agree."""
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(num_hidden_layers=LAYERS)).eval()
    install(model)
    examples = examples_of([LENGTH] * 8)
    pieces = [mask_pieces(e, 103, model.config.vocab_size, 0) for e in examples]
    inputs = model_inputs(model, examples, 0)
    targets = torch.full_like(inputs["input_ids"], -100)
    for row, one in enumerate(pieces):
        targets[row] = torch.from_numpy(one.targets).where(torch.from_numpy(one.chosen), torch.tensor(-100))
    masked = LanguageModel(model, None, HeadFacts("checkpoint"))

    def training() -> None:
        model.requires_grad_(True)
        masked.loss(inputs, targets).backward()
        model.zero_grad(set_to_none=True)

    def one_backward_pass() -> list[torch.Tensor]:
        model.requires_grad_(False)
        return attention_gradients(masked, examples, pieces, 0)[1]

    def a_layer_at_a_time() -> list[torch.Tensor]:
        model.requires_grad_(False)
        model.get_input_embeddings().weight.requires_grad_(True)
        gradients = []
        for layer in range(LAYERS):
            masked_inputs = {name: tensor.clone() for name, tensor in inputs.items()}
            for row, one in enumerate(pieces):
                masked_inputs["input_ids"][row] = torch.from_numpy(one.input_ids)
            model.set_attn_implementation("eager")
            output = model(**masked_inputs, output_attentions=True)
            loss = torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), targets.flatten(), reduction="sum")
            gradients.append(torch.autograd.grad(loss, output.attentions[layer])[0])
        install(model)
        return gradients

    difference = max(float((a - b).abs().max()) for a, b in zip(one_backward_pass(), a_layer_at_a_time(), strict=True))
    print(f"{LAYERS} layers of BERT-base shape, 8 x 128 tokens; largest difference {difference:.1e}")
    candidates = {
        "gradients with respect to all attention weights": one_backward_pass,
        "forward and backward pass of training": training,
        "output_attentions, one backward pass per layer": a_layer_at_a_time,
    }
    report(side_by_side(candidates, 3), "forward and backward pass of training")
