"""The device memory that judging a task takes, estimated before anything is allocated.

Several judges share a device. Each asks for its part of the memory first, so that none of them
runs out of it because of the others.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.core.task import Task
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.loaders import open_reference
from kernelwright.loaders.quiet_mode import QuietMode
from kernelwright.loaders.reference import CHECK_SEED, task_code

SLOTS_PER_JUDGE = 2
"""The fewest slots that a judge takes: slots are parts of a device's memory, and judges need
several sizes."""
COPIES, LIBRARY_COPIES, WORK_COPIES = 14, 5, 4
"""Copies of the task's tensors that the judge, a candidate and the library settings that stay
hold at a time, float64 and the window of each of four modules included; the same without a
candidate; and of the additional tensors that the task's largest operator works on."""
CONTEXTS_BYTES = 8 * 500_000_000
"""The judge's, the tuner's, four candidates' and two of library settings: a CUDA context took
0.5 GB on an H200."""
HELD_SHARE = 0.5
"""A candidate that holds this share of a device's memory is to blame where the judge had too
little."""
SCARCE_SHARE = 0.125
"""While a larger share of the memory is free, nobody lacks any."""
JUDGED_AGAIN = (
    ReasonCode.KILLED,
    ReasonCode.VANISHED,
    ReasonCode.HELD_DEVICE_MEMORY,
    ReasonCode.DEVICE_MEMORY_SHORT,
)
"""Outcomes that the judge saw for itself and that others may have caused: where host memory runs
out, Linux ends a judged process first, whoever took it; and another process may give device memory
back in the moment in which a candidate is ended."""
BLAMED_ON_MEMORY = (
    ReasonCode.RAISED,
    ReasonCode.BUILD_RAISED,
    ReasonCode.CRASHED,
    ReasonCode.EXITED,
)
"""Failures that too little device memory explains."""
RELEASED_S = 2.0
"""The time that a driver may take to free the memory of a process that has ended."""
WAIT_S, N_STARTS = 20.0, 4
"""The time that others may take to give back memory beyond their part, and how often a judge starts
anew."""
SLOW_WITHOUT_DATA = (torch.nn.RNNBase,)  # a loop in Python, 10 s for 512 steps


def slots_needed(
    task: Task, backend: DeviceBackend, *, for_library: bool = False
) -> tuple[int, int]:
    """The memory slots that a judge of this task needs, and the slots of the device.

    ``for_library``: it times the library settings one after the other, and no candidate.
    """
    n_slots = (backend.most_judges or 1) * SLOTS_PER_JUDGE
    share = needed_bytes(task, for_library=for_library) / backend.memory_bytes()
    return min(n_slots, max(SLOTS_PER_JUDGE, math.ceil(share * n_slots))), n_slots


def needed_bytes(task: Task, *, for_library: bool = False) -> int:
    """The memory that a judge of this task needs for all of its processes together."""
    own, largest = _sizes(task)
    copies = LIBRARY_COPIES if for_library else COPIES
    return CONTEXTS_BYTES + copies * own + WORK_COPIES * max(0, largest - own)


def lacked_memory(evaluation: Evaluation) -> bool:
    """True if a candidate may have failed because others held the memory, or was blamed for memory
    that another gave back at the same moment."""
    codes = [reason.code for reason in evaluation.reasons]
    return any(c in JUDGED_AGAIN or c.status is Status.INFRA_ERROR for c in codes)


def blamed_on_memory(backend: DeviceBackend, task: Task, refused: Refused) -> Refused:
    """A candidate's refusal, with another code if the judge sees too little free memory on the
    device: others may have caused the failure then. Call this when it has just failed, whatever
    its error says."""
    is_asked = refused.code in BLAMED_ON_MEMORY and backend.most_judges is not None
    if not is_asked or backend.free_bytes() >= _wanted_bytes(backend, task):
        return refused
    return Refused(ReasonCode.DEVICE_MEMORY_SHORT, refused.detail, place=refused.place)


def _wanted_bytes(backend: DeviceBackend, task: Task) -> float:
    """The memory that must be free to judge this task: half of the device's at most."""
    return min(needed_bytes(task), HELD_SHARE * backend.memory_bytes())


def wait_for_memory(backend: DeviceBackend, task: Task) -> None:
    """Return when a GPU has the free memory that judging this task needs, half of it at most, or
    after WAIT_S."""
    if backend.most_judges is None:
        return
    needed = _wanted_bytes(backend, task)
    deadline_s = time.monotonic() + WAIT_S
    while backend.free_bytes() < needed and time.monotonic() < deadline_s:
        time.sleep(RELEASED_S / 20)


def with_enough_memory(work: Callable[[], None], backend: DeviceBackend, task: Task) -> None:
    """Do the first work of a judge; if it finds too little memory do it again, when others have
    given theirs back.

    Raises:
        DeviceError: it finds too little every time.
    """
    for n_left in reversed(range(N_STARTS if backend.most_judges is not None else 1)):
        try:
            with memory_apart():
                return work()
        except (DeviceError, MemoryError) as error:
            if not n_left and isinstance(error, DeviceError):
                raise
            if not n_left:
                raise does_not_fit(task, error) from error
        wait_for_memory(backend, task)


@contextlib.contextmanager
def within_its_part(backend: DeviceBackend, end: Callable[[], None]) -> Iterator[None]:
    """Check that a candidate in this context does not take most of a GPU's memory and nearly the
    last of it: other judges need theirs.

    Raises:
        Refused: it does.
        MemoryError: another process does meanwhile. The candidate was ended to find that out.
    """
    if backend.most_judges is None:
        yield
        return
    before, whole = backend.free_bytes(), backend.memory_bytes()
    yield
    after = backend.free_bytes()
    if after <= SCARCE_SHARE * whole and before - after >= HELD_SHARE * whole:
        if held := held_bytes(backend, end):
            raise too_much(held)
        raise MemoryError("out of memory: somebody else took most of it")


def too_much(held: int) -> Refused:
    """The refusal of a candidate that held so many bytes."""
    seen = f"it held {held / 2**30:.0f} GiB of the device's memory, too much for the judge"
    return Refused(ReasonCode.HELD_DEVICE_MEMORY, seen)


def held_bytes(backend: DeviceBackend, end: Callable[[], None]) -> int:
    """The device memory that comes free when a candidate is ended, if that is most of it; else
    0."""
    time.sleep(RELEASED_S / 2)  # a process that ended before may still be giving memory back
    before = backend.free_bytes()
    end()
    deadline_s = time.monotonic() + RELEASED_S
    while time.monotonic() < deadline_s:
        held = backend.free_bytes() - before
        if held > HELD_SHARE * backend.memory_bytes():
            return held
        time.sleep(RELEASED_S / 20)
    return 0


def largest_bytes(task: Task) -> int:
    """The size of the task's tensors, or of its largest operator's where that is more; at least
    1."""
    return max(1, *_sizes(task))


@functools.lru_cache(maxsize=1)  # a large network takes a second
def _sizes(task: Task) -> tuple[int, int]:
    """Bytes of the task's inputs, weights and outputs, and of its largest operator's tensors.

    Measured on tensors without memory; parts of a task that need data count as nothing.
    """
    own, largest = 0, _LargestOperator()
    what, advice = "the forward needs its data", "see what it says when it has them"
    with contextlib.suppress(KernelwrightError):  # its first run says what is wrong with it
        reference = open_reference(task)
        with torch.device("meta"), torch.no_grad(), task_code(task, what, advice):
            module = reference.build(CHECK_SEED)
            inputs = reference.inputs(CHECK_SEED, "meta")
            own = _bytes([inputs, module.state_dict()])
            if not any(isinstance(m, SLOW_WITHOUT_DATA) for m in module.modules()):
                with largest:
                    own += _bytes(module(*inputs))
    return own, largest.n_bytes


class _LargestOperator(QuietMode):
    """Records the size of the operator with the largest inputs and outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.n_bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        self.n_bytes = max(self.n_bytes, _bytes([args, kwargs, found]))
        return found


def _bytes(tree: Any) -> int:
    tensors = (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))
    return sum(t.numel() * t.element_size() for t in tensors)


def does_not_fit(task: Task, error: BaseException) -> DeviceError:
    """The error for a task that leaves its judge too little memory."""
    return DeviceError(
        f"{task.name} does not fit in memory beside its judge",
        seen=str(error).splitlines()[0][:300] if str(error) else type(error).__name__,
        do="use smaller inputs, or a device with more memory",
    )
