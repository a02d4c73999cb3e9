"""The errors that rounding to a reduced precision explains, where one was asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from kernelwright.judge.compare.allowances import explained
from kernelwright.judge.compare.outputs import ROUNDING, Expected
from kernelwright.judge.reference.nudges import Change, widen
from kernelwright.judge.sandbox.layout import map_tensors
from kernelwright.judge.sandbox.lowering import lower, rounded

Run = Callable[[torch.nn.Module, list[Any]], list[torch.Tensor]]
InFloat64 = Callable[[list[Any], Change], list[torch.Tensor] | None]


def widened_for(
    precision: str,
    expected: Expected,
    module: torch.nn.Module,
    arguments: list[Any],
    *,
    run: Run,
    in_float64: InFloat64,
) -> Expected:
    """``expected`` with the errors allowed that the precision explains: those of float64 with
    rounded inputs and weights, and, where torch.autocast has the precision, those of the module
    under autocast.
    """
    to_precision = partial(rounded, precision=precision)
    given = map_tensors(lambda t: widen(to_precision(t)), arguments)
    runs = [in_float64(given, to_precision)]
    if precision != "tf32":
        runs.append(run(lower(module, precision, is_held=False), arguments))
    return explained(expected, [r for r in runs if r], 2 * ROUNDING[precision])
