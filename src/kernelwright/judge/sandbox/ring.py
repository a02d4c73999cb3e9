"""Rings: the arguments of many calls in memory that a child shares, and the gate before them.

A window is many calls without a word between them. Each has arguments of its own in memory of its
own. On a GPU the child queues the calls behind a gate; the judge writes the arguments when all are
queued, and opens the gate: what is timed is the device's work, and nobody knew the inputs before.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from kernelwright.judge.devices import cpu, cuda_driver
from kernelwright.judge.sandbox.layout import (
    Region,
    bytes_of,
    flat_source,
    flat_view,
    leaves,
    map_tensors,
    plan_slots,
    view,
)

if TYPE_CHECKING:
    from kernelwright.judge.devices.backend import DeviceBackend

N_COPIED = 4
"""The outputs of one window that are read, and compared: drawn anew for each."""
READY, ARRIVED, OPEN, N_WORDS = 0, 1, 2, 3
"""The words of a gate: the child's queue may begin; it has; and its calls may run."""
ARRIVAL_S = 0.1
"""The time in which a GPU takes up the child's queue: changing to its context takes 0.14 ms on an
H200. The gate opens in any case."""


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
        for _ in range(0 if backend.reads_from_outside else N_COPIED):
            copy, end = plan_slots(dense, end)
            self.copies.append(copy)
        self._region = Region(backend, end)
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

    def part(self, first: int, n_entries: int) -> torch.Tensor:
        """The memory of the arguments of some calls, one after the other in the ring."""
        return self.memory[first * self._entry_bytes : (first + n_entries) * self._entry_bytes]

    def close(self) -> None:
        """Give the judge's side back."""
        self._region.close()
        if self.gate is not None:
            self.gate.close()


class Gate:
    """The judge's side of a gate: three words of host memory, which the child's queue waits for.

    The queue begins with a kernel, so that the GPU has changed to the child's context before the
    clock starts: the change is no call's own. A child that writes the words itself has its calls
    run before their arguments are there, or its clock start early.
    """

    def __init__(self) -> None:
        self.fd, self._memory = cpu.share(4 * N_WORDS)
        self._words = (ctypes.c_int32 * N_WORDS).from_address(self._memory.data_ptr())

    def shut(self) -> None:
        """Make the next queue wait."""
        for number in range(N_WORDS):
            self._words[number] = 0

    def open(self) -> int:
        """Let the queue run; the time at which it could, by the judge's clock in nanoseconds."""
        self._words[READY] = 1
        end_s = time.monotonic() + ARRIVAL_S
        while not self._words[ARRIVED] and time.monotonic() < end_s:
            pass
        opened_ns = time.perf_counter_ns()
        self._words[OPEN] = 1
        return opened_ns

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.fd)


class GateInChild:
    """The child's side of a gate."""

    def __init__(self, fd: int, device: torch.device) -> None:
        self._device = device
        self._memory = cpu.map_shared(fd)
        self._address = cuda_driver.registered(self._memory.data_ptr(), self._memory.numel())
        self._used = torch.zeros(1, device=device)
        self._used.zero_()  # a kernel is loaded when it is first started: not behind a gate
        torch.cuda.synchronize(device)

    def wait(self) -> None:
        """Have the current stream wait until the gate opens."""
        stream = torch.cuda.current_stream(self._device)
        cuda_driver.wait_for(self._address + 4 * READY, stream=stream)
        self._used.zero_()
        cuda_driver.write(self._address + 4 * ARRIVED, 1, stream=stream)
        cuda_driver.wait_for(self._address + 4 * OPEN, stream=stream)


def _shifted(slots: Any, offset_bytes: int) -> Any:
    """The same slots, so many bytes farther on."""
    return map_tensors(lambda s: replace(s, offset_bytes=s.offset_bytes + offset_bytes), slots)
