"""Errors that rounding to a reduced precision explains: one that was asked for, or TF32 in
convolutions on a GPU.

``torch.backends.cudnn.allow_tf32`` is on by default, and says what may be, not what is: cuDNN takes
TF32 or float32 by shapes, by the memory layout and by how much memory is free. So one run of the
reference is no yardstick for another: the same library call would pass in one process and be
refused in another. What the library may do under the flag, a candidate may.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.judge.compare.allowances import explained
from kernelwright.judge.compare.expected import ROUNDING, USELESS, Expected
from kernelwright.judge.compare.measures import as_real
from kernelwright.judge.reference.nudges import Change, widen
from kernelwright.judge.sandbox.layout import map_tensors
from kernelwright.judge.sandbox.lowering import lower, rounded
from kernelwright.loaders.quiet_mode import QuietMode

Run = Callable[[torch.nn.Module, list[Any]], list[torch.Tensor]]
InFloat64 = Callable[[list[Any], Change], list[torch.Tensor] | None]


class RoundedConvolutions(QuietMode):
    """While it is entered, float32 convolutions get inputs and weights rounded to TF32."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.convolution.default:
            args = (rounded(args[0], "tf32"), rounded(args[1], "tf32"), *args[2:])
        return func(*args, **(kwargs or {}))


def may_be_rounded(device: str) -> bool:
    """Whether the library may take TF32 for convolutions there."""
    return torch.device(device).type == "cuda" and torch.backends.cudnn.allow_tf32


@contextlib.contextmanager
def without_tf32() -> Iterator[None]:
    """Forbid the library to round to TF32 in this process while the context is entered."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = False
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def for_convolutions(
    expected: Expected, run: Callable[[], list[torch.Tensor]], *, is_own: bool
) -> Expected | None:
    """Allow the errors that ``run``, the reference, has where all convolutions are rounded to TF32.
    Where those explain nearly anything, zeros too, there is no answer, or on the task's own inputs
    ``expected`` as it is."""
    with RoundedConvolutions():
        wider = _explained(expected, [as_real(run())])
    if wider.reference_error > USELESS:
        return expected if is_own else None
    pairs = zip(wider.outputs, expected.outputs, strict=True)
    outputs = [replace(one, without_tf32=before.allowed) for one, before in pairs]
    return replace(wider, outputs=tuple(outputs))


def for_precision(
    precision: str,
    expected: Expected,
    module: torch.nn.Module,
    arguments: list[Any],
    *,
    run: Run,
    in_float64: InFloat64,
) -> Expected:
    """Allow the errors that the precision explains: those of float64 with rounded inputs and
    weights, and, where torch.autocast has the precision, those of the module under autocast."""
    to_precision = partial(rounded, precision=precision)
    given = map_tensors(lambda t: widen(to_precision(t)), arguments)
    runs = [in_float64(given, to_precision)]
    if precision != "tf32":
        runs.append(run(lower(module, precision, is_held=False), arguments))
    return _explained(expected, [found for found in runs if found], 2 * ROUNDING[precision])


def _explained(expected: Expected, runs: list[list[torch.Tensor]], least: float = 0.0) -> Expected:
    outputs = [
        explained(output, [found[number] for found in runs], least)
        for number, output in enumerate(expected.outputs)
    ]
    return replace(expected, outputs=tuple(outputs))
