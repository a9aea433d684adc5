"""Precision of matrix products on a GPU: float32, whatever a container sets."""

import pytest
import torch
from tiny_models import tiny
from transformers import AutoModel

from attention_atlas.models.devices import DEVICE_VARIABLE, use_float32_on_gpu
from attention_atlas.models.loading import initialised


@pytest.fixture(autouse=True)
def tf32():
    """The precision that a container has set; that of before once a test ends."""
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    yield
    torch.backends.cuda.matmul.fp32_precision = before


def test_the_precision_is_set_for_products_on_a_gpu_alone():
    left, right = torch.randn(2, 64, 64)
    product, on_cpu = left @ right, torch.backends.mkldnn.matmul.fp32_precision
    use_float32_on_gpu()
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
    assert torch.backends.mkldnn.matmul.fp32_precision == on_cpu
    assert torch.equal(left @ right, product)


@pytest.mark.parametrize("init", ["pretrained", "random"])
def test_it_is_set_wherever_a_model_is_made_also_by_jobs_that_need_no_gpu(init, monkeypatch, tmp_path):
    """With `device: cuda`, jobs without a GPU load models on a CPU of a cluster."""
    monkeypatch.setenv(DEVICE_VARIABLE, "cuda")
    tiny("bert").save_pretrained(tmp_path)
    initialised(AutoModel, {"source": {"path": str(tmp_path)}, "dtype": "float32", "init": init, "seed": 0})
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
