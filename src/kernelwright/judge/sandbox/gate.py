"""The gate before a window's calls on a GPU.

The child queues the calls behind it. The judge writes their arguments when all are queued, and
opens it: what is timed is the device's work, and nobody knew the inputs before.
"""

from __future__ import annotations

import ctypes
import os
import time

import torch

from kernelwright.judge.devices import cpu, cuda_driver

READY, ARRIVED, OPEN, N_WORDS = 0, 1, 2, 3
"""The words of a gate: the child's queue may begin; it has; and its calls may run."""
ARRIVAL_S = 0.1
"""The time in which a GPU takes up the child's queue: changing to its context takes 0.14 ms on an
H200. The gate opens in any case."""


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
