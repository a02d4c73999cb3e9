"""How much of a device's memory judging a task takes, told before anything is allocated.

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
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.core.task import Task
from kernelwright.judge.machine.place import Place
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.loaders import open_reference
from kernelwright.loaders.reference import CHECK_SEED, task_code

CHAIRS_PER_JUDGE = 2
"""At least: chairs are parts of a device's memory, and judges need several sizes."""
COPIES, LIBRARY_COPIES, WORK_COPIES = 10, 4, 4
"""Of the task's tensors, and of what its largest operator works on besides, that the judge, a
candidate and the library settings that stay hold at a time, float64 included; and without a
candidate."""
CONTEXTS_BYTES = 11 * 500_000_000
"""The judge's, five candidates', four library settings' and an empty module's: a CUDA context took
0.5 GB on an H200."""
HELD_SHARE = 0.5
"""Of a device's memory: whoever held so much is to blame where the judge had too little."""
SCARCE_SHARE = 0.125
"""Of it: where more is free, others do not lack any."""
JUDGED_AGAIN = (
    ReasonCode.KILLED,
    ReasonCode.VANISHED,
    ReasonCode.HELD_DEVICE_MEMORY,
    ReasonCode.DEVICE_MEMORY_SHORT,
)
"""What the judge saw for itself and others may have caused: where host memory runs out, Linux ends
a judged process first, whoever took it; and another process may give device memory back in the
moment in which a candidate is ended."""
BLAMED_ON_MEMORY = (
    ReasonCode.RAISED,
    ReasonCode.BUILD_RAISED,
    ReasonCode.CRASHED,
    ReasonCode.EXITED,
)
"""Failures that too little device memory explains."""
RELEASED_S = 2.0
"""For a driver to take back what an ended process held."""
WAIT_S, N_STARTS = 20.0, 4
"""For others to give back what they hold beyond their part, and how often a judge starts anew."""
SLOW_WITHOUT_DATA = (torch.nn.RNNBase,)  # a loop in Python, 10 s for 512 steps


def n_chairs(task: Task, place: Place, *, for_library: bool = False) -> tuple[int, int]:
    """The chairs that a judge of this task needs, and how many the device has in all.

    ``for_library``: to time the library settings one after the other, and nothing else.
    """
    in_all = place.most_judges * CHAIRS_PER_JUDGE
    share = needed_bytes(task, for_library=for_library) / place.memory_bytes()
    return min(in_all, max(CHAIRS_PER_JUDGE, math.ceil(share * in_all))), in_all


def needed_bytes(task: Task, *, for_library: bool = False) -> int:
    """The memory that a judge of this task needs for all of its processes together."""
    own, largest = _sizes(task)
    copies = LIBRARY_COPIES if for_library else COPIES
    return CONTEXTS_BYTES + copies * own + WORK_COPIES * max(0, largest - own)


def lacked_memory(evaluation: Evaluation) -> bool:
    """Whether a candidate may have failed for want of memory that others held, or was blamed for
    what another gave back at the same moment."""
    codes = [reason.code for reason in evaluation.reasons]
    return any(c in JUDGED_AGAIN or c.status is Status.INFRA_ERROR for c in codes)


def seen_beside(place: Place, task: Task, refused: Refused) -> Refused:
    """A candidate's refusal, with another code where the judge sees too little free memory on the
    device: others may have caused the failure then. To be asked when it has just failed, whatever
    its error says."""
    is_asked = refused.code in BLAMED_ON_MEMORY and place.most_judges is not None
    if not is_asked or place.free_bytes() >= _wanted_bytes(place, task):
        return refused
    return Refused(ReasonCode.DEVICE_MEMORY_SHORT, refused.detail, place=refused.place)


def _wanted_bytes(place: Place, task: Task) -> float:
    """The memory that must be free to judge this task: half of the device's at most."""
    return min(needed_bytes(task), HELD_SHARE * place.memory_bytes())


def wait_for_room(place: Place, task: Task) -> None:
    """Return when a GPU has the memory that judging this task needs, half of it at most, or after
    WAIT_S."""
    if place.most_judges is None:
        return
    needed = _wanted_bytes(place, task)
    deadline_s = time.monotonic() + WAIT_S
    while place.free_bytes() < needed and time.monotonic() < deadline_s:
        time.sleep(RELEASED_S / 20)


def with_room(work: Callable[[], None], place: Place, task: Task) -> None:
    """Do what a judge begins with; where it finds too little memory once more, when others have
    given theirs back.

    Raises:
        DeviceError: it finds too little every time.
    """
    for n_left in reversed(range(N_STARTS if place.most_judges is not None else 1)):
        try:
            with memory_apart():
                return work()
        except (DeviceError, MemoryError) as error:
            if not n_left and isinstance(error, DeviceError):
                raise
            if not n_left:
                raise no_memory(task, error) from error
        wait_for_room(place, task)


@contextlib.contextmanager
def within_its_part(place: Place, end: Callable[[], None]) -> Iterator[None]:
    """Nobody takes most of a GPU's memory and nearly the last of it in here: other judges need
    theirs.

    Raises:
        Refused: this candidate does.
        MemoryError: somebody else does meanwhile. It has been ended to find that out.
    """
    if place.most_judges is None:
        yield
        return
    before, whole = place.free_bytes(), place.memory_bytes()
    yield
    after = place.free_bytes()
    if after > SCARCE_SHARE * whole or before - after < HELD_SHARE * whole:
        return
    if held := held_bytes(place, end):
        raise too_much(held)
    raise MemoryError("out of memory: somebody else took most of it")


def too_much(held: int) -> Refused:
    """The refusal of a candidate that held so many bytes."""
    seen = f"it held {held / 2**30:.0f} GiB of the device's memory, too much for the judge"
    return Refused(ReasonCode.HELD_DEVICE_MEMORY, seen)


def held_bytes(place: Place, end: Callable[[], None]) -> int:
    """What of the device's memory comes free when a candidate is ended, if that is most of it; 0
    otherwise."""
    time.sleep(RELEASED_S / 2)  # what ended before it may have held it, and be giving it back
    before = place.free_bytes()
    end()
    deadline_s = time.monotonic() + RELEASED_S
    while time.monotonic() < deadline_s:
        held = place.free_bytes() - before
        if held > HELD_SHARE * place.memory_bytes():
            return held
        time.sleep(RELEASED_S / 20)
    return 0


def largest_bytes(task: Task) -> int:
    """Of the task's tensors, or of its largest operator's where those are more; one at least."""
    return max(1, *_sizes(task))


@functools.lru_cache(maxsize=1)  # a large network takes a second
def _sizes(task: Task) -> tuple[int, int]:
    """Bytes of the task's inputs, weights and outputs, and of its largest operator's tensors.

    Found out on tensors without memory; what a task does not do with those counts nothing.
    """
    own, largest = 0, _Largest()
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


class _Largest(TorchDispatchMode):
    """Notes the operator with the largest inputs and outputs."""

    n_bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        self.n_bytes = max(self.n_bytes, _bytes([args, kwargs, found]))
        return found


def _bytes(tree: Any) -> int:
    tensors = (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))
    return sum(t.numel() * t.element_size() for t in tensors)


def no_memory(task: Task, error: BaseException) -> DeviceError:
    """The error of a task that leaves its judge too little memory."""
    return DeviceError(
        f"{task.name} does not fit in memory beside its judge",
        seen=str(error).splitlines()[0][:300] if str(error) else type(error).__name__,
        do="use smaller inputs, or a device with more memory",
    )
