"""OV copying: whether a head that attends to a token makes that same token more likely, from its weights alone.

Elhage et al. (2021, A Mathematical Framework for Transformer Circuits, section "Detecting copying behavior").
"""

from __future__ import annotations

import torch


def embedding_product(embedding: torch.Tensor, unembedding: torch.Tensor) -> torch.Tensor:
    """W_E W_U, [hidden, hidden]: the only part of the copying score that depends on the vocabulary.

    Args:
        embedding: [token, hidden] input embedding, W_E transposed.
        unembedding: [token, hidden] output embedding, W_U.
    """
    return embedding.float().T @ unembedding.float()


def copying_scores(value: torch.Tensor, output: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
    """[head] sum of the real parts of the eigenvalues of W_U W_O W_V W_E over the sum of their absolute values.

    1 if all eigenvalues are positive: attending to a token makes the same token more likely (copying). -1 if all are
    negative, and about 0 for weights without a preference. The nonzero eigenvalues of this [token, token] matrix are those
    of W_V (W_E W_U) W_O [size, size]. Biases and layer norms are left out, as in the source.

    Args:
        value: [head, size, hidden] W_V.
        output: [head, hidden, size] W_O.
        product: [hidden, hidden] from `embedding_product`.

    Returns:
        NaN if all eigenvalues are 0.
    """
    eigenvalues = torch.linalg.eigvals((value @ product @ output).double())
    return eigenvalues.real.sum(-1) / eigenvalues.abs().sum(-1)
