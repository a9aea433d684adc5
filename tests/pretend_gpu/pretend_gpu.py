"""A GPU that is pretended: code for a GPU runs on a machine without one, and what would fail or differ there fails here.

A tensor is "on the GPU" when its storage was brought there (`.to("cuda")`, `device="cuda"`) or comes from such tensors. As on a
real one, such tensors say `cuda:0` of themselves, are no numpy arrays, and do not mix with tensors of the CPU. All arithmetic
is the CPU's, so results can be compared with those of a run without it, byte for byte. Numbers that are drawn on a GPU are not
those that the same seed draws on a CPU: making a tensor of drawn numbers there fails, too (dropout does not).

What it cannot show: rounding, speed and memory of a real GPU, and operations that lack a kernel there. Tensors of other threads
than the one that entered the mode are not watched.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

GPU = torch.device("cuda", 0)
_SAID = {"get device": GPU, "get is_cuda": True, "get is_cpu": False, "get_device": 0}
"""What a tensor there says of itself."""
_DRAWING = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal"}
_TO_NUMPY = {"numpy", "__array__"}
# What moves values between devices, or looks at one tensor for another's sake.
_CROSSING = {"copy_", "as_tensor", "is_same_size", "type_as", "_has_compatible_shallow_copy_type"}


class PretendGpu(TorchFunctionMode):
    """While this mode is on, `cuda` is a device whose tensors are kept apart from those of the CPU."""

    def __init__(self) -> None:
        super().__init__()
        # Place of each storage on the GPU, until the storage goes.
        self._here: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def holds(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is on the GPU."""
        return _place(tensor) in self._here

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Answer for the device, or check the tensors, compute, and say where the result is."""
        kwargs = dict(kwargs or {})
        name = _name_of(func)
        if name in _SAID and self.holds(args[0]):
            return _SAID[name]
        if name in ("to", "cpu", "cuda"):
            return self._moved(name, func, args, kwargs)
        tensors = [part for part in tree_leaves((args, kwargs)) if isinstance(part, torch.Tensor)]
        here = [tensor for tensor in tensors if self.holds(tensor)]
        if name in _TO_NUMPY and here:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
        device = kwargs.get("device")
        if device is not None:
            there = torch.device(device).type == "cuda"
            if there and name in _DRAWING:
                raise RuntimeError(f"{name} on a GPU draws other numbers than on a CPU: draw here and move them")
            if there:
                kwargs["device"] = "cpu"
        else:
            there = self._computed_there(name, args, tensors, here)
        result = func(*args, **kwargs)
        if there:
            stay = {_place(tensor) for tensor in tensors if not self.holds(tensor)}
            made = [part for part in tree_leaves(result) if isinstance(part, torch.Tensor)]
            self._bring(tensor for tensor in made if _place(tensor) not in stay)
        return result

    def _computed_there(self, name: str, args: tuple[Any, ...], tensors: list[torch.Tensor], here: list[torch.Tensor]) -> bool:
        """Whether a result is on the GPU; tensors of both devices are an error, but for numbers and what moves values."""
        if not here:
            return False
        apart = [tensor for tensor in tensors if not self.holds(tensor) and tensor.dim() > 0 and _place(tensor) is not None]
        if name == "__getitem__" and self.holds(args[0]):
            return True
        if name == "__setitem__":
            index = [part for part in tree_leaves(args[1]) if isinstance(part, torch.Tensor)]
            apart = [] if not index else [t for t in (args[0], args[2]) if any(t is other for other in apart)]
            here = [t for t in (args[0], args[2], *index) if isinstance(t, torch.Tensor) and self.holds(t) and t.dim() > 0]
        if apart and name not in _CROSSING and not name.startswith("set "):
            sizes = [tuple(tensor.shape) for tensor in apart]
            if any(tensor.dim() > 0 for tensor in here):
                raise RuntimeError(
                    f"{name}: expected all tensors to be on the same device; on the CPU are those of shape {sizes}"
                )
            return False
        return True

    def _moved(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor, *rest = args
        options = {key: value for key, value in kwargs.items() if key != "copy"}
        if name != "to":
            device, dtype = torch.device(name), None
        else:
            other = kwargs.get("other", rest[0] if rest else None)
            if isinstance(other, torch.Tensor):
                device, dtype = GPU if self.holds(other) else torch.device("cpu"), other.dtype
            else:
                device, dtype, *_ = torch._C._nn._parse_to(*rest, **options)
        there = self.holds(tensor) if device is None else device.type == "cuda"
        if not there and not self.holds(tensor):
            return func(*args, **kwargs)
        result = tensor if dtype is None else tensor.to(dtype)
        if _place(result) == _place(tensor) and (kwargs.get("copy") or there != self.holds(tensor)):
            result = result.clone()
        if there:
            self._bring([result])
        return result

    def _bring(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            if (place := _place(tensor)) is not None:
                self._here[place] = weakref.ref(tensor.untyped_storage(), lambda _, gone=place: self._here.pop(gone, None))


def _name_of(func: Callable[..., Any]) -> str:
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        return f"{name[2:5]} {func.__self__.__name__}"  # type: ignore[attr-defined]
    return name


def _place(tensor: torch.Tensor) -> int | None:
    """What tells a tensor's storage from others; None for tensors without one (those of a transform)."""
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return None
