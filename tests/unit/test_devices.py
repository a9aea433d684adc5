"""The device that the configuration asks for, and the same numbers on each."""

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from pretend_gpu import PretendGpu
from tiny_models import HEADS, LAYERS, tiny

from attention_atlas.attention.divergence import head_divergence
from attention_atlas.attention.engine import install
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models import devices
from attention_atlas.models.devices import DEVICE_VARIABLE, pick_device
from attention_atlas.models.extraction import attention_maps

# Float16 maps: one unit in the last place of a weight below 1 is 5e-4.
TOLERANCE = 5e-4


@pytest.mark.parametrize(
    ("wanted", "tool", "there", "expected"),
    [
        (None, False, False, "cpu"),
        ("auto", True, True, "cuda"),
        ("auto", True, False, "cpu"),
        ("cpu", True, True, "cpu"),
        ("cuda", True, True, "cuda"),
        ("cuda", False, False, "torch sees no GPU here"),
        ("tpu", False, False, "use auto, cpu or cuda"),
    ],
)
def test_the_device_is_that_of_the_configuration(monkeypatch, wanted, tool, there, expected):
    monkeypatch.delenv(DEVICE_VARIABLE, raising=False)
    if wanted:
        monkeypatch.setenv(DEVICE_VARIABLE, wanted)
    monkeypatch.setattr(devices, "gpu_here", lambda: tool)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    with contextlib.nullcontext() if " " not in expected else pytest.raises(AtlasError, match=expected):
        assert pick_device() == expected


def examples() -> list[Example]:
    built = []
    for record, n in enumerate((6, 9, 4)):
        ids = tuple(5 + (7 * record + k) % 40 for k in range(n))
        built.append(Example(record, str(record), ids, (0,) * n, ("x",) * n, (-1, *range(n - 2), -1), ("x",) * (n - 2)))
    return built


@pytest.fixture(params=["real", "pretended"])
def gpu(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a GPU: of this machine's, and of one that is pretended."""
    if request.param == "real" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    with PretendGpu() if request.param == "pretended" else contextlib.nullcontext():
        yield "cuda"


@pytest.mark.parametrize("level", ["tokens", "words"])
def test_maps_on_a_gpu_are_those_of_the_cpu(gpu, level):
    model = tiny("bert").eval()
    install(model)
    here = attention_maps(model, examples(), 1, level)
    model.to(gpu)
    assert model.device.type == "cuda"
    there = attention_maps(model, examples(), 1, level)
    for record, maps in here.items():
        assert maps.shape[:2] == (LAYERS, HEADS)
        assert np.allclose(maps.astype(float), there[record].astype(float), atol=TOLERANCE)


def test_divergence_on_a_gpu_is_that_of_the_cpu(gpu):
    raw = np.random.default_rng(0).random((12, 40, 40)).astype(np.float32)
    maps = (raw / raw.sum(-1, keepdims=True)).astype(np.float16)
    assert np.allclose(head_divergence(maps, 0.001, device=gpu), head_divergence(maps, 0.001), atol=1e-4)
