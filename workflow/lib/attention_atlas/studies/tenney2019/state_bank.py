"""Hidden states on a GPU: read from the disk once, and gathered there for each batch of edge probes.

A batch of 32 sentences of BERT-large has 35 MB of stored states. By plan, copying them from the host in each step takes longer
than the step itself. What does not fit on the GPU is copied from pinned memory; a thread prepares it while the GPU computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
import torch

from attention_atlas.corpora.examples import Example
from attention_atlas.models.hidden_states import Half, HiddenStates

Value = TypeVar("Value")


@dataclass(frozen=True)
class HostPart:
    """What a batch needs from the host.

    Attributes:
        places: [sentence, longest] place of each word piece in the bank; place 0 holds zeros.
        rows: sentences of the batch whose states are not in the bank.
        states: their states [sentence, row, longest, width] in float16, padded with zeros; None if there is none.
    """

    places: torch.Tensor
    rows: torch.Tensor
    states: torch.Tensor | None


class StateBank:
    """Hidden states of examples on a device, as many as fit there, and the rest on the host.

    Args:
        caches: the stored states of each example, by `id`. Examples come in the order in which they are placed.
        examples: the examples.
        device: where the states go.
        limit: largest size of the bank in bytes; the first examples that fit are placed.

    Raises:
        AtlasError: states are missing or damaged.
    """

    def __init__(self, caches: Mapping[int, HiddenStates], examples: Iterable[Example], device: str, limit: float) -> None:
        # Examples are kept: the `id` of a deleted object may be reused.
        self._examples = list({id(example): example for example in examples}.values())
        self._caches, self._device = caches, device
        first = self(self._examples[0])
        self._rows, self._width = first.shape[0], first.shape[2]
        room = int(limit // (2 * self._rows * self._width)) - 1
        self._starts: dict[int, int] = {}
        stop = 1
        for example in self._examples:
            pieces = len(self._caches[id(example)].pieces(example))
            if stop - 1 + pieces > room:
                break
            self._starts[id(example)] = stop
            stop += pieces
        self._bank = torch.zeros((stop, self._rows, self._width), dtype=torch.float16, device=device)
        for example in self._examples[: len(self._starts)]:
            stored = torch.from_numpy(self._caches[id(example)].stored(example)).to(device)
            start = self._starts[id(example)]
            self._bank[start : start + stored.shape[1]] = stored.transpose(0, 1)

    def __call__(self, example: Example) -> Half:
        """States [row, n, width] of an example on the host."""
        return self._caches[id(example)][example]

    @property
    def examples(self) -> int:
        """Number of examples."""
        return len(self._examples)

    @property
    def placed(self) -> int:
        """Number of examples whose states are on the device."""
        return len(self._starts)

    @property
    def bytes(self) -> int:
        """Size of the bank in bytes."""
        return self._bank.numel() * self._bank.element_size()

    def prepare(self, examples: Sequence[Example]) -> HostPart:
        """What a batch needs from the host; may run in a thread, since it does not use the device."""
        longest = max(len(example.tokens) for example in examples)
        places = np.zeros((len(examples), longest), np.int64)
        absent = []
        for row, example in enumerate(examples):
            if (start := self._starts.get(id(example))) is None:
                absent.append(row)
            else:
                pieces = list(self._caches[id(example)].pieces(example))
                places[row, pieces] = np.arange(start, start + len(pieces))
        states = None
        if absent:
            states = _pinned(len(absent), self._rows, longest, self._width)
            for number, row in enumerate(absent):
                values = torch.from_numpy(self(examples[row]))
                states[number, :, : values.shape[1]] = values
        return HostPart(torch.from_numpy(places), torch.tensor(absent, dtype=torch.long), states)

    def gather(self, part: HostPart) -> torch.Tensor:
        """States [sentence, row, longest, width] of a batch on the device, in float32; 0 for all that is not stored."""
        # [sentence, longest, row, width], as the bank; a view in the order of the host's states.
        states = self._bank[part.places.to(self._device)].transpose(1, 2)
        if part.states is not None:
            states[part.rows.to(self._device)] = part.states.to(self._device, non_blocking=True)
        return states.float()


def _pinned(*shape: int) -> torch.Tensor:
    """Zeros in float16 on the host, from where a GPU, if there is one, copies them while it computes."""
    return torch.zeros(shape, dtype=torch.float16, pin_memory=torch.cuda.is_available())


def ahead(values: Iterable[Value]) -> Iterator[Value]:
    """The values of an iterable, each prepared by a thread while the one before it is used."""
    iterator = iter(values)

    def following() -> list[Value]:
        """The next value; nothing at the end."""
        return list(islice(iterator, 1))

    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(following)
        while ready := waiting.result():
            waiting = thread.submit(following)
            yield from ready
