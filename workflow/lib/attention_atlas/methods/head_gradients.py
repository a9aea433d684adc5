"""Derivatives of each example's loss with respect to head gates, one backward pass per batch (Michel et al. 2019, eq. 2).

Each head's output is multiplied by a gate with value 1, separately for every example. Since the loss is summed over examples,
the derivative by an example's gate is that of this example's loss. The same pass yields the product of output and gradient at
every position; the published code sums the magnitudes of these products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.attention.batch_sizes import GRADIENT_TOKENS
from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import Site, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.methods.experiment import Experiment
from attention_atlas.methods.importance import Derivatives
from attention_atlas.methods.masking import KINDS, heads_of

Floats = npt.NDArray[np.float64]


def head_gradients(experiment: Experiment, examples: Sequence[Example], plan: Plan | None = None) -> Derivatives:
    """Derivatives for all heads and examples, in the order of the examples.

    Args:
        experiment: the model and its loss.
        examples: examples with references or labels.
        plan: heads that are masked already; their derivatives are 0.

    Raises:
        AtlasError: the loss is not finite, or an example has no label or reference.
    """
    heads = heads_of(experiment.shape)
    rows = {example.record: row for row, example in enumerate(examples)}
    derivatives = np.zeros((3, len(examples), len(heads)))
    batches = list(batch_by_length(examples, GRADIENT_TOKENS))
    for batch in progress(batches, label="gradients of head gates"):
        derivatives[:, [rows[example.record] for example in batch]] = _of_batch(experiment, batch, plan or Plan())
    return Derivatives(heads, *derivatives)


def _of_batch(experiment: Experiment, batch: Sequence[Example], plan: Plan) -> Floats:
    """[measure, example, head]: the measures of `Derivatives`."""
    model, gates = experiment.model, {}
    for site, (layers, heads) in experiment.shape.items():
        gates[site] = torch.ones(len(batch), layers, heads, device=model.device, requires_grad=True)
        plan = plan.gated(gates[site], site)
    outputs: dict[Site, torch.Tensor] = {}
    inputs = model_inputs(model, batch, experiment.pad)
    with torch.enable_grad(), watch(model, plan=plan, outputs=[outputs.__setitem__]) as session:
        session.batch(inputs["attention_mask"])
        loss = experiment.loss(inputs, batch)
    if not torch.isfinite(loss):
        raise AtlasError(
            f"the loss is not finite for a batch with example {batch[0].id}: check the model's weights and the corpus."
        )
    slopes = torch.autograd.grad(loss, [*gates.values(), *outputs.values()])
    by_gate = dict(zip(gates, slopes, strict=False))
    pairs = zip(outputs.items(), slopes[len(gates) :], strict=True)
    products = {site: (output.detach() * slope).sum(-1) for (site, output), slope in pairs}
    measured = []
    for site in (site for site in KINDS.values() if site in gates):
        layer_products = [products[key] for key in sorted(products, key=lambda key: key.layer) if key.site_kind == site]
        magnitudes = torch.stack([layer.abs() for layer in layer_products], dim=1)  # [example, layer, position, head]
        reached = (magnitudes > 0).any(dim=-1).sum(dim=-1)[..., None].expand_as(by_gate[site])
        parts = (by_gate[site], magnitudes.sum(dim=2), reached)
        measured.append(torch.stack([part.double().flatten(1) for part in parts]).cpu().numpy())
    return np.concatenate(measured, axis=2)
