"""Rings: the arguments of many calls in memory that a child shares.

A window is many calls without a word between them. Each has arguments of its own in memory of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from kernelwright.judge.compare.pieces import same_bits
from kernelwright.judge.devices.input_poisoner import POISON
from kernelwright.judge.sandbox.gate import Gate
from kernelwright.judge.sandbox.layout import (
    PROGRESS_BYTES,
    Region,
    bytes_of,
    flat_source,
    flat_view,
    in_layout,
    leaves,
    map_tensors,
    plan_slots,
    view,
)
from kernelwright.judge.sandbox.outputs import Claim, ResultForm

if TYPE_CHECKING:
    from kernelwright.judge.devices.backend import DeviceBackend

N_COPIED = 4
"""The outputs of one window that are read, and compared: drawn anew for each."""


class Form:
    """The form of every call's arguments and outputs in a ring."""

    def __init__(self, arguments: list[Any], like: Sequence[torch.Tensor]) -> None:
        self.slots, self.input_bytes = plan_slots(arguments)
        """The places of a call's arguments, and their bytes in whole pages."""
        self.like = list(like)
        self.output_bytes = bytes_of(self.like)


class Packed:
    """The arguments of one call, in one piece of memory."""

    def __init__(self, arguments: list[Any]) -> None:
        slots, n_bytes = plan_slots(arguments)
        device = next((t.device for t in leaves(arguments)), "cpu")
        self.slots = slots
        self.memory = torch.zeros(max(1, n_bytes), dtype=torch.uint8, device=device)
        for slot, tensor in zip(leaves(slots), leaves(arguments), strict=True):
            if slot.span_bytes:
                flat_view(slot, self.memory).copy_(flat_source(tensor))
        self.arguments: list[Any] = map_tensors(lambda slot: view(slot, self.memory), slots)


class Ring:
    """The judge's side of a ring's memory: places for arguments, and for copies of outputs."""

    def __init__(self, backend: DeviceBackend, form: Form, n_entries: int) -> None:
        self._entry_bytes = form.input_bytes
        self.entries = [_shifted(form.slots, n * self._entry_bytes) for n in range(n_entries)]
        end = n_entries * self._entry_bytes
        dense = [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in form.like]
        self.copies = []
        """Places for outputs, where the child copies them itself."""
        for _ in range(0 if backend.reads_from_outside else min(N_COPIED, n_entries)):
            copy, end = plan_slots(dense, end)
            self.copies.append(copy)
        self._region = Region(backend, end + PROGRESS_BYTES)
        self.gate = Gate() if backend.kind != "cpu" else None
        self.fds = (self._region.fd,) if self.gate is None else (self._region.fd, self.gate.fd)

    @property
    def memory(self) -> torch.Tensor:
        """All of it, in bytes."""
        return self._region.memory

    def write(self, packed: Mapping[int, Packed]) -> None:
        """Write the arguments of the next window's calls, by their places in the ring."""
        if self._entry_bytes:
            places = [self.part(place, 1) for place in packed]
            torch._foreach_copy_(places, [one.memory for one in packed.values()])

    @property
    def progress(self) -> torch.Tensor:
        """The number of calls of the running window that have returned, on a CPU."""
        return self.memory[-PROGRESS_BYTES:].view(torch.int32)[0]

    def spoil(self, places: Sequence[int]) -> None:
        """Overwrite the arguments of some calls."""
        for place in places:
            self.part(place, 1).fill_(POISON)

    def part(self, first: int, n_entries: int) -> torch.Tensor:
        """The memory of the arguments of some calls, one after the other in the ring."""
        return self.memory[first * self._entry_bytes : (first + n_entries) * self._entry_bytes]

    def shut(self) -> None:
        """Shut the gate."""
        assert self.gate is not None  # on a GPU
        self.gate.shut()

    def open_gate(self) -> int:
        """Open the gate; when that was, in nanoseconds."""
        assert self.gate is not None  # on a GPU
        return self.gate.open()

    def close(self) -> None:
        """Give the judge's side back."""
        self._region.close()
        if self.gate is not None:
            self.gate.close()


def _shifted(slots: Any, offset_bytes: int) -> Any:
    """The same slots, so many bytes farther on."""
    return map_tensors(lambda s: replace(s, offset_bytes=s.offset_bytes + offset_bytes), slots)


def copied(claims: list[Claim], slots: Any, memory: torch.Tensor) -> list[torch.Tensor]:
    """Outputs that a child has copied into shared memory."""
    pairs = zip(slots, claims, strict=True)
    return [in_layout(view(s, memory), c.shape, c.strides).clone() for s, c in pairs]


def written(slots: Any, memory: torch.Tensor, form: ResultForm) -> list[torch.Tensor]:
    """The contents of those arguments at these places that the reference writes to."""
    # Inputs of other shapes may have other arguments.
    pairs = zip(leaves(slots), form.changed, strict=False)
    return [view(slot, memory).clone() for slot, is_changed in pairs if is_changed]


def changed(slots: Any, memory: torch.Tensor, arguments: list[Any]) -> list[bool]:
    """Which of these arguments are no longer what was written to their places."""
    return [
        slot.span_bytes > 0 and not same_bits(flat_view(slot, memory), flat_source(t))
        for slot, t in zip(leaves(slots), leaves(arguments), strict=True)
    ]
