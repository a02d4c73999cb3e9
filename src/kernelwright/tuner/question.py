"""Question: the inputs, weights and expected results that every candidate of a search is tried on.

They are the judge's own first draw, which costs nothing more. They go to the tuner's processes in
memory that no other process can open by name: an anonymous file, and the device's own memory for
the tensors of a GPU, which may be gigabytes.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kernelwright.core.errors import DeviceError
from kernelwright.core.task import Task
from kernelwright.judge.compare.expected import Expected
from kernelwright.judge.devices import cuda_driver
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.sandbox.layout import (
    Region,
    Slot,
    end_of,
    flat_source,
    flat_view,
    plan_slots,
    torch_dtype,
    view,
)
from kernelwright.judge.verify.leniency import conditioned

if TYPE_CHECKING:
    from kernelwright.judge import Judge
    from kernelwright.judge.devices.backend import DeviceBackend


@dataclass(frozen=True)
class Question:
    """All that a trial needs of a task."""

    task: Task
    device: str
    """The device's name in torch, in a process that sees no other."""
    threads: int
    flush_bytes: int
    """Bytes that are read before each timed call to flush the caches; 0 leaves them warm."""
    initial: list[Any]
    """The arguments of the module's constructor."""
    seed: int
    """The seed that the module's constructor draws with."""
    state: Mapping[str, torch.Tensor]
    """The weights, by name."""
    arguments: list[Any]
    expected: Expected
    form: tuple[tuple[torch.Size, torch.dtype], ...]
    """Shape and dtype of every output."""


def why_untunable(judge: Judge) -> str:
    """Return why the judge's task cannot be tried in a process that many candidates share; empty
    if it can."""
    profile = judge.oracle.profile
    if profile.results.entries or any(profile.results.changed):
        return "the reference writes to its arguments"
    if profile.work.writes_weights:
        return "the reference writes to its weights"
    return ""


def question_of(judge: Judge) -> Question | None:
    """Return the question of the judge's task; None if the reference has no answer that counts."""
    oracle, backend = judge.oracle, judge.machine.backend
    with oracle.computing():
        expected = oracle.expectations.of(oracle.first, oracle.first_arguments)
        if expected is None:
            return None
        if not all(output.is_float for output in expected.outputs):
            # A trial is not refused for a choice that the last digits decide, as an expert's.
            expected = conditioned(oracle, oracle.first, oracle.first_arguments, expected)
    is_cold = judge.settings.cache == "cold"
    return Question(
        task=judge.judged_task,
        device=backend.name_in_child,
        threads=judge.threads,
        flush_bytes=2 * backend.last_level_cache_bytes() if is_cold else 0,
        initial=oracle.forward.initial,
        seed=oracle.forward.weight_seed,
        state=oracle.state(USUAL),
        arguments=oracle.first_arguments,
        expected=expected,
        form=tuple((tensor.shape, tensor.dtype) for tensor in oracle.example),
    )


class SharedQuestion:
    """A question in memory that the tuner's processes open: the tensors of a GPU stay on it.

    Raises:
        DeviceError: this machine gives no memory for it.
    """

    def __init__(self, question: Question, backend: DeviceBackend | None = None) -> None:
        """``backend``: the device that the question's tensors are on; None: the CPU."""
        text = io.BytesIO()
        pickler = _WithoutTensors(text)
        pickler.dump(question)
        tensors: list[Any] = pickler.tensors
        self._region: Region | None = None
        self._fd = os.memfd_create("question")
        try:
            if backend is not None and backend.kind != "cpu":
                tensors = self._put_on_device(tensors, backend)
            with os.fdopen(os.dup(self._fd), "wb") as file:
                torch.save((text.getvalue(), tensors), file)
        except DeviceError:
            self.close()
            raise
        except (OSError, RuntimeError) as error:  # torch says that a write was short
            self.close()
            raise DeviceError(
                "the inputs and results of a large task do not fit into shared memory",
                seen=f"{type(error).__name__}: {error}"[:200],
                do="free memory, or give the task smaller inputs; it is judged without trials",
            ) from error

    def _put_on_device(self, tensors: list[torch.Tensor], backend: DeviceBackend) -> list[Slot]:
        """Copy tensors to device memory that other processes map; their places in it."""
        slots: list[Slot]
        slots, n_bytes = plan_slots(tensors)
        self._region = Region(backend, n_bytes)
        for slot, tensor in zip(slots, tensors, strict=True):
            if slot.span_bytes:
                flat_view(slot, self._region.memory).copy_(flat_source(tensor))
        backend.settle()
        return slots

    @property
    def is_on_device(self) -> bool:
        """True if it holds memory of a GPU."""
        return self._region is not None

    @property
    def fds(self) -> list[int]:
        """The file descriptors for ``read_from_memory``."""
        return [self._fd] if self._region is None else [self._fd, self._region.fd]

    def close(self) -> None:
        """Give the memory back; processes that have opened it keep it as long as they live."""
        os.close(self._fd)
        if self._region is not None:
            self._region.close()


def read_from_memory(fds: Sequence[int], device: str) -> Question:
    """Return the question behind the descriptors of a ``SharedQuestion``, with its tensors on
    ``device``. On a CPU a question of a GPU's has tensors without memory. The first descriptor
    stays open."""
    text, tensors = torch.load(f"/proc/self/fd/{fds[0]}", mmap=True, weights_only=False)
    if len(fds) == 1:
        tensors = [tensor.to(device) for tensor in tensors]
    elif device == "cpu":
        tensors = [_without_memory(slot) for slot in tensors]
    else:
        index = torch.device(device).index or 0
        memory = cuda_driver.map_shared(fds[1], end_of(tensors), index)
        tensors = [view(slot, memory) for slot in tensors]
    unpickler = pickle.Unpickler(io.BytesIO(text))
    unpickler.persistent_load = tensors.__getitem__  # type: ignore[method-assign]
    found = unpickler.load()
    assert isinstance(found, Question)
    return found


class _WithoutTensors(pickle.Pickler):
    """Writes numbers in place of tensors."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.tensors: list[torch.Tensor] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, torch.Tensor):
            return None
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.tensors)
            self.tensors.append(value.detach())
        return self._numbers[id(value)]


def _without_memory(slot: Slot) -> torch.Tensor:
    dtype = torch_dtype(slot.dtype)
    return torch.empty_strided(slot.shape, slot.strides, dtype=dtype, device="meta")
