"""Faults of a task: some make it unfit to be judged, and others make a win on it worth nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.core.task import Task
from kernelwright.judge.compare.measures import all_finite, are_alike, differ, largest_size
from kernelwright.judge.sandbox.layout import dtype_name, leaves, map_tensors
from kernelwright.loaders.copies import copied


class RandomReferenceError(TaskError):
    """Two runs of the reference on the same inputs differ."""


OVERFLOWED = 0.5
"""Share of an output that is NaN or infinite, above which it says little about a kernel."""

NOISE = 1e-6
"""Size of float64 results, relative to the reference's, below which the reference's are rounding
noise around zero."""

ROUNDING = 4e-6
"""Relative rounding error of a sum in float32."""


def require_same_numbers(first: str, other: str) -> None:
    """Require that the numbers and names among a result's parts, as ``nesting`` has them, do not
    depend on the inputs' values.

    Raises:
        TaskError: they do.
    """
    if first != other:
        raise TaskError(
            "the forward's result has parts that change with the values of its inputs",
            seen=f"{first:.150}, then {other:.150}",
            do="return such numbers as tensors",
        )


def require_deterministic(
    outputs: list[torch.Tensor], module: torch.nn.Module, run: Callable[[], list[torch.Tensor]]
) -> None:
    """Require that another ``run`` on the same inputs gives the same, does not overwrite earlier
    results, and does not depend on how often the reference has been called.

    Raises:
        TaskError: it is not.
    """
    before = [(buffer, buffer.clone()) for buffer in module.buffers()]
    found = run()
    if not all(map(are_alike, outputs, found)):
        if _gives_again(found, before, run):
            raise _counted()
        raise RandomReferenceError(
            "the reference is not deterministic",
            seen="two runs on the same inputs differ",
            do="put the module in eval() mode, or remove dropout and random states",
        )
    before = [(buffer, buffer.clone()) for buffer in module.buffers()]
    if not before:
        return
    held = [(output, output.clone(), _n_writes(output)) for output in found]
    later = run()
    # The same numbers may be written, and some operators write without being counted.
    overwritten = [differ(t, value) or _n_writes(t) != n for t, value, n in held]
    if any(overwritten):
        raise TaskError(
            "the reference returns memory of its own, which its next call writes to",
            seen=f"output {overwritten.index(True)}",
            do="return a clone of it",
        )
    if all(map(torch.equal, found, later)):
        return
    if _gives_again(later, before, run):
        raise _counted()


def _n_writes(t: torch.Tensor) -> int:
    """The number of writes that torch has counted; 0 if it does not count them."""
    return 0 if t.is_inference() else t._version


def _gives_again(
    found: list[torch.Tensor],
    before: list[tuple[torch.Tensor, torch.Tensor]],
    run: Callable[[], list[torch.Tensor]],
) -> bool:
    """Whether buffers have changed, and a run with their values from ``before`` gives the same
    again: then the difference comes from neither dropout nor atomics."""
    if not any(differ(*pair) for pair in before):
        return False
    for buffer, value in before:
        buffer.copy_(value)
    return all(map(torch.equal, found, run()))


def _counted() -> TaskError:
    return TaskError(
        "the reference's results depend on how often it has been called",
        seen="buffers that each call changes, as spectral_norm's in train mode",
        do="put the module in eval() mode",
    )


def require_numbers(tensors: Sequence[torch.Tensor]) -> None:
    """Require that there are numbers.

    Raises:
        TaskError: some are on the meta device.
    """
    if any(t.is_meta for t in tensors):
        raise TaskError(
            "there is nothing to compare on the meta device",
            seen="a tensor without memory",
            do="let the module take and give tensors with numbers",
        )


def require_float32(task: Task, tensors: Sequence[torch.Tensor]) -> None:
    """Require that the precision that a task asks for is lower than its own.

    Raises:
        TaskError: it is not.
    """
    kinds = {dtype_name(t.dtype) for t in tensors if t.is_floating_point()}
    if kinds != {"float32"}:
        raise TaskError(
            f'{task.name} cannot be judged in "{task.precision}"',
            seen=", ".join(sorted(kinds)),
            do="leave the precision out, or give the task in float32",
        )


def meaningless(task: Task, error: float) -> TaskError:
    """Make the error for a task whose precision leaves nothing of its results."""
    return TaskError(
        f"{task.name} means nothing in {task.precision}",
        seen=f"errors of {error:.2g} of a row's largest value",
        do="ask for a higher precision, or for none",
    )


def degenerate(outputs: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> list[Warned]:
    """Return warnings about a reference, by its results on two draws.

    Raises:
        TaskError: their shapes differ, so that no candidate's shapes can be checked beforehand.
    """
    shapes = [[list(t.shape) for t in results] for results in (outputs, other)]
    if shapes[0] != shapes[1]:
        raise TaskError(
            "the output's shape depends on the inputs' values",
            seen=f"{shapes[0]}, then {shapes[1]}",
            do="pad it to a length that is always the same",
        )
    found = []
    for number, (one, two) in enumerate(zip(outputs, other, strict=True)):
        if min(map(_overflowed, (one, two))) > OVERFLOWED:
            found.append(_degenerate(f"most of output {number} is NaN or beyond its type"))
    if all(map(torch.equal, outputs, other)):
        found.append(_degenerate("the output does not depend on the inputs"))
    for number, (one, two) in enumerate(zip(outputs, other, strict=True)):
        if one.numel() > 1 and _is_one_value(one, two):
            found.append(_degenerate(f"output {number} is constant"))
    return found


def _degenerate(seen: str) -> Warned:
    return Warned(WarningCode.DEGENERATE_TASK, f"degenerate task: {seen}")


def _is_one_value(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether all results on two draws are the same number but for rounding, as the sums of a
    softmax's rows."""
    if not one.is_floating_point():
        return torch.equal(one, two) and bool((one == one.reshape(-1)[0]).all())
    low, high = torch.stack([*one.aminmax(), *two.aminmax()]).double().aminmax()
    room = max(2 * torch.finfo(one.dtype).eps, ROUNDING)
    return bool((low == high) | (high - low < room * torch.maximum(low.abs(), high.abs())))


def without_noise(
    own: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]
) -> tuple[list[torch.Tensor], tuple[Warned, ...]]:
    """Return float64's results, with zeros for outputs that are zero but for rounding, as the mean
    of normalised numbers: each precision has its own noise there. Warnings name them."""
    found, warnings = list(exact), list[Warned]()
    for number, (one, wide) in enumerate(zip(own, exact, strict=True)):
        if not wide.is_floating_point() or not bool(wide.any()):
            continue
        if float(largest_size(wide)) < NOISE * float(largest_size(one)):
            found[number] = torch.zeros_like(wide)
            warnings.append(_degenerate(f"output {number} is zero but for rounding"))
    return found, tuple(warnings)


def _overflowed(t: torch.Tensor) -> float:
    """The share of NaN and infinities, without -inf, which masks use."""
    return 0.0 if all_finite([t]) else int((~t.isfinite() & (t != -math.inf)).sum()) / t.numel()


def written(held: list[torch.Tensor], arguments: list[Any]) -> list[bool]:
    """Say to which of its arguments a reference wrote when it was given clones of their tensors,
    which are ``held``. A write counts even if it changed no number, as a clamp of small ones."""
    pairs = zip(held, leaves(arguments), strict=True)
    return [_n_writes(mine) > 0 or differ(mine, theirs) for mine, theirs in pairs]


def written_by(module: torch.nn.Module, arguments: list[Any]) -> list[bool]:
    """Say to which of these arguments a reference writes."""
    given = map_tensors(torch.clone, arguments)
    held = leaves(given)
    with torch.no_grad():
        copied(module)(*given)  # it may write to its weights as well
    return written(held, arguments)
