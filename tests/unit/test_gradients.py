"""Figure 3: the derivative of the loss by each attention weight, and its means by target class."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from test_mlm_head import MASK, example, prepare, setup
from tiny_models import HEADS, LAYERS, PAD, masked_model, tiny

from attention_atlas.attention.batches import model_inputs
from attention_atlas.methods.head_tables import independent_units
from attention_atlas.models.card import read_card
from attention_atlas.models.language_models import load_masked_model, mask_pieces, read_mlm_head, unmasked
from attention_atlas.studies.clark2019 import gradients as module
from attention_atlas.studies.clark2019.claims import first_late_layer
from attention_atlas.studies.clark2019.gradients import attention_gradients, claims_frame, gradients, segment_gradients

EXAMPLES = [example(k, n) for k, n in enumerate((9, 14, 7, 11))]


@pytest.mark.parametrize("masking", module.MASKINGS)
def test_equals_autograd_on_the_models_own_eager_attention(masking):
    pieces = [mask_pieces(e, MASK, 60, 0) if masking == "masked" else unmasked(e) for e in EXAMPLES]
    maps, slopes = attention_gradients(masked_model(), EXAMPLES, pieces, PAD)
    eager = tiny("bert_mlm")
    inputs = model_inputs(eager, EXAMPLES, PAD)
    targets = torch.full_like(inputs["input_ids"], -100)
    for row, one in enumerate(pieces):
        n = len(one.input_ids)
        inputs["input_ids"][row, :n] = torch.from_numpy(one.input_ids)
        targets[row, :n] = torch.from_numpy(np.where(one.chosen, one.targets, -100))
        # Only predicted rows of the last layer reach the loss, and no queries that are padding.
        moved = slopes[-1][row, :, :n, :n].abs().sum(dim=(0, 2)).numpy() > 0
        assert (moved == one.chosen).all()
        assert all((layer[row, :, n:] == 0).all() for layer in slopes)
    output = eager(**inputs, output_attentions=True)
    loss = torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), targets.flatten(), reduction="sum")
    expected = torch.autograd.grad(loss, output.attentions)
    for ours, theirs, a, b in zip(slopes, expected, maps, output.attentions, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
        assert torch.equal(a, b)


def slow(model, card, examples, masking, seed, which):
    """One example, layer, head and class at a time, over one of the sets of rows."""
    by_measure = {m: np.full((len(examples), 4, LAYERS, HEADS), np.nan) for m in module.MEASURES}
    for k, e in enumerate(examples):
        one = mask_pieces(e, MASK, 60, seed) if masking == "masked" else unmasked(e)
        maps, slopes = attention_gradients(model, [e], [one], PAD)
        members = (("[SEP]",), ("[CLS]",), (".", ","), set(e.tokens) - {"[SEP]", ".", ","})
        for c, layer, head in np.ndindex(4, LAYERS, HEADS):
            every = which == "all" or (which == "reachable" and layer < LAYERS - 1)
            rows = [i for i in range(len(e.tokens)) if every or one.chosen[i]]
            g, a = slopes[layer][0, head].abs().numpy(), maps[layer][0, head].numpy()
            cells = [(i, j) for i in rows for j, token in enumerate(e.tokens) if token in members[c]]
            if cells:
                by_measure["per_weight"][k, c, layer, head] = np.mean([g[cell] for cell in cells])
                by_measure["per_query"][k, c, layer, head] = sum(g[cell] for cell in cells) / len(rows)
                by_measure["gradient_x_attention"][k, c, layer, head] = np.mean([g[cell] * a[cell] for cell in cells])
    return by_measure


def with_comma(e):
    return replace(e, tokens=(*e.tokens[:3], ",", *e.tokens[4:]))


@pytest.mark.parametrize("masking", module.MASKINGS)
def test_means_by_class_equal_loops(masking, tmp_path, monkeypatch):
    setup(tmp_path, "bert_mlm", EXAMPLES)
    card = read_card(tmp_path / "card.json")
    examples = [EXAMPLES[0], with_comma(EXAMPLES[1]), EXAMPLES[2], with_comma(EXAMPLES[3])]
    expected = {rows: slow(masked_model(), card, examples, masking, 5, rows) for rows in module.ROWS}
    for batch_tokens in (1024, 16):
        monkeypatch.setattr(module, "GRADIENT_TOKENS", batch_tokens)
        measured = segment_gradients(masked_model(), card, examples, masking, 5)
        assert set(measured) == set(product(module.ROWS, module.MEASURES))
        for (rows, measure), values in measured.items():
            assert values == pytest.approx(expected[rows][measure], rel=2e-4, nan_ok=True), (rows, measure)
            assert np.isnan(values[[0, 2], 2]).all()


def test_the_claim_compares_layers_with_the_largest():
    generator = np.random.default_rng(3)
    values = np.full((12, 4, 6, 2), 5.0)
    values[:, 0] = np.array([1, 2, 0.3, 0.1, 0.1, 0.02])[:, None] * generator.uniform(0.9, 1.1, (12, 6, 2))
    table = claims_frame(values, independent_units([f"d{k // 3}" for k in range(12)], "segments"), 200, 0)
    means = values[:, 0].mean(axis=(0, 2))
    assert table["ratio"].tolist() == pytest.approx((means / means.max())[2:].tolist())
    assert ((table["ci_low"] < table["ratio"]) & (table["ratio"] < table["ci_high"])).all()
    assert set(table["level"]) == {1 - 0.05 / 4}
    assert [first_late_layer(layers) for layers in (1, 6, 12, 24)] == [1, 3, 5, 10]


def test_tables(tmp_path):
    examples = [with_comma(example(k, 7 + k % 4)) for k in range(10)]
    entry = setup(tmp_path, "bert", examples)
    head, facts = prepare(tmp_path, entry, steps=3)
    card = read_card(tmp_path / "card.json")
    tables = gradients(entry, card, read_mlm_head(str(head)), examples, 100, 0)
    table = tables["gradients"]
    assert ((table["ci_low"] <= table["value"]) & (table["value"] <= table["ci_high"])).all()
    by_measure = segment_gradients(load_masked_model(entry, head, facts), card, examples, "masked", 0)
    # The claim is on predicted rows of masked segments.
    of_sep = by_measure["predicted", "per_weight"][:, 0].mean(axis=(0, 2))
    ratios = tables["claims"].set_index("layer")["ratio"]
    assert ratios.to_numpy() == pytest.approx((of_sep / of_sep.max())[ratios.index - 1], rel=1e-4)
    without_mask = setup(tmp_path, "gpt2", EXAMPLES, mask=None)
    head, _ = prepare(tmp_path, without_mask)
    tables = gradients(without_mask, read_card(tmp_path / "card.json"), read_mlm_head(str(head)), EXAMPLES, 100, 0)
    assert all(frame.empty for frame in tables.values())
