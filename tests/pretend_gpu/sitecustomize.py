"""With this folder on PYTHONPATH, every job of the workflow that asks where models run is told: on the pretended GPU.

Where code goes another way on a GPU, it goes the CPU's, so that files are the same, byte for byte.
"""

import importlib.abc
import importlib.machinery
import logging
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

DEVICES = "attention_atlas.models.devices"


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.pick_device = _pick_device  # type: ignore[attr-defined]
        module.on_gpu = lambda tensor: False  # type: ignore[attr-defined]


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name == DEVICES else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _pick_device() -> str:
    """ "cuda"; from the first call on, there is such a device."""
    global _mode
    if _mode is None:
        from pretend_gpu import PretendGpu

        _mode = PretendGpu()
        _mode.__enter__()
        logging.getLogger(__name__).info("models run on a pretended GPU")
    return "cuda"


_mode = None
sys.meta_path.insert(0, _Finder())
