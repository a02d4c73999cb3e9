"""Degenerate references: references that a kernel could match without doing the work.

Source:
    Reasons why published kernels were wrong or empty: constant outputs, outputs that ignore an
    input, saturated functions; METR's and others' reviews of KernelBench's tasks, and CUDA-L1's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.core.errors import KernelwrightError
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference
from kernelwright.loaders.reference import task_code

SEEDS = (11, 12, 13)
MIN_SPREAD = 1e-3
"""Relative spread (of the largest magnitude) below which all elements count as one value."""
MIN_CHANGE = 1e-4
"""Relative difference below which two results count as the same: a judge cannot tell them apart."""
VANISHING = 1e-6
"""Magnitude below which results of inputs near 1 count as rounding errors."""
SATURATED = 0.95
"""Share of equal results from which a function hides its argument."""

_COPIES = ("clone", "_to_copy", "copy_")


def faults(task: Task) -> list[str]:
    """Return the ways in which a task is degenerate, in words; empty if there are none.

    The task runs on a few draws of inputs on the CPU. A reference that fails is a fault too.
    """
    try:
        reference = open_reference(task)
        module = reference.build(SEEDS[0])
        draws = [reference.inputs(seed) for seed in SEEDS]
        with task_code(task, "the forward fails", "mend it"), torch.no_grad():
            with _Watch() as watch:
                first = _flat(module(*draws[0]))
            outputs = [first, *(_flat(module(*inputs)) for inputs in draws[1:])]
            found = [*_values(outputs), *_identity(first, draws[0])]
            found += list(_ignored(module, draws, first)) if not found else []
        return found + watch.faults
    except KernelwrightError as error:
        return [f"{error.what}: {error.seen}"]


def _values(draws: list[list[torch.Tensor]]) -> Iterator[str]:
    """Yield faults that are visible in the outputs of several draws."""
    for outputs in draws:
        if not all(torch.isfinite(out).all() for out in outputs):
            yield "an output is not finite"
            return
    for number, out in enumerate(draws[0]):
        if out.abs().max() < VANISHING:
            yield f"output {number} vanishes"
        elif out.numel() > 1 and _is_one_value(out):
            yield f"output {number} is constant"
        elif all(_is_close(out, other[number]) for other in draws[1:]):
            yield f"output {number} is the same for every draw"


def _is_one_value(out: torch.Tensor) -> bool:
    return bool((out.max() - out.min()) <= MIN_SPREAD * out.abs().max())


def _is_close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two results agree within what a judge allows."""
    return bool((a - b).abs().max() <= MIN_CHANGE * a.abs().max())


def _identity(outputs: list[torch.Tensor], inputs: list[Any]) -> Iterator[str]:
    tensors = [value.double() for value in inputs if isinstance(value, torch.Tensor)]
    for number, out in enumerate(outputs):
        if any(value.shape == out.shape and torch.equal(value, out) for value in tensors):
            yield f"output {number} is an input"


def _ignored(module: torch.nn.Module, draws: list[Any], first: list[torch.Tensor]) -> Iterator[str]:
    """Yield inputs whose redrawing changes no output. Buffers that training updates change
    meanwhile, but they do not affect a result in train mode."""
    for number, value in enumerate(draws[0]):
        if isinstance(value, torch.Tensor):
            changed = list(draws[0])
            changed[number] = draws[1][number]
            if all(map(_is_close, first, _flat(module(*changed)))):
                yield f"input {number} does not matter"


def _flat(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a result, in float64."""
    if isinstance(value, torch.Tensor):
        return [value.double()]
    return [part for item in value for part in _flat(item)]


class _Watch(TorchDispatchMode):
    """A dispatch mode that checks whether every pointwise operator changes its argument and varies
    with it."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        name = function.name().removeprefix("aten::")
        is_step = torch.Tag.pointwise in function.tags and name not in _COPIES
        # 1.0 / x is dispatched as a reciprocal times 1.0
        is_times_one = any(isinstance(a, float) and a == 1 for a in args)
        if is_step and isinstance(result, torch.Tensor) and not is_times_one:
            with contextlib.suppress(StopIteration):
                given = next(a for a in args if isinstance(a, torch.Tensor) and a.numel() > 64)
                self._look(name, given, result)
        return result

    def _look(self, name: str, given: torch.Tensor, result: torch.Tensor) -> None:
        if not (given.is_floating_point() and result.is_floating_point()):
            return
        if given.shape == result.shape and torch.equal(given, result):
            self.faults.append(f"{name} changes nothing")
        elif _share_of_one_value(result) > SATURATED > _share_of_one_value(given):
            self.faults.append(f"{name} is saturated")


def _share_of_one_value(values: torch.Tensor) -> float:
    """Return the share of elements that equal the largest, or the smallest."""
    ends = (values == values.amax(), values == values.amin())
    return max(end.float().mean().item() for end in ends)
