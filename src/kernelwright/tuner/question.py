"""Question: the inputs, weights and expected results that every candidate of a search is tried on.

They are the judge's own first draw, which costs nothing more. They go to the tuner's process in
anonymous memory that no other process can open by name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kernelwright.core.errors import DeviceError
from kernelwright.core.task import Task
from kernelwright.judge.compare.expected import Expected
from kernelwright.judge.perturb.weight_sets import USUAL

if TYPE_CHECKING:
    from kernelwright.judge import Judge


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
    is_cold = judge.settings.cache == "cold"
    return Question(
        task=judge.task,
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


def put_in_memory(question: Question) -> int:
    """Return a file descriptor of memory that holds the question; the caller closes it.

    Raises:
        DeviceError: this machine gives no memory for it.
    """
    fd = os.memfd_create("question")
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            torch.save(question, file)
    except (OSError, RuntimeError) as error:  # torch says that a write was short
        os.close(fd)
        raise DeviceError(
            "the inputs and results of a large task do not fit into shared memory",
            seen=f"{type(error).__name__}: {error}"[:200],
            do="free memory, or give the task smaller inputs; it is judged without trials",
        ) from error
    return fd


def read_from_memory(fd: int, device: str) -> Question:
    """Return the question in the memory behind ``fd``, with its tensors on ``device``."""
    found = torch.load(f"/proc/self/fd/{fd}", map_location=device, mmap=True, weights_only=False)
    assert isinstance(found, Question)
    return found
