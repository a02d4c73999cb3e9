"""NaN and infinities: in a task's own results, as behind a mask or beyond the type's range, and in
modules that ask for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from kernelwright.judge.compare.measures import as_real, row_scale, same
from kernelwright.judge.compare.outputs import Expected
from kernelwright.judge.refusal import WrongValues

ASKING = {"isnan", "isinf", "isfinite", "isposinf", "isneginf", "nan_to_num", "nan_to_num_"}
ASKING |= {"nanmean", "nansum", "nanmedian", "nanquantile"}

FAR = 0.01
"""Allowed error, relative to the row's largest value, of numbers that are finite where float64 is
finite and the reference is not: nobody knows how well conditioned they are."""
BEYOND = 2.0
"""Factor of a type's largest number: what is larger in float64 is infinite in that type."""


class Asking(TorchFunctionMode):
    """Notes whether the module asks for NaN or infinities among its inputs, or leaves them out:
    what it does with them is then part of the task.

    Those that the module makes itself do not count: attention that fills a mask with -inf cleans up
    queries that see nothing. ``inputs`` are arguments and weights; a mask among them may hold
    infinities already.
    """

    is_heard = False

    def __init__(self, inputs: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self._makes_some = any(_holds_infinity(t) for t in inputs)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = tree_leaves((args, kwargs))
        self._makes_some |= any(isinstance(one, float) and math.isinf(one) for one in given)
        if getattr(func, "__name__", "") in ASKING and not self._makes_some:
            tensors = [one for one in given if isinstance(one, torch.Tensor)]
            self.is_heard |= all(bool(t.isfinite().all()) for t in tensors)
        return func(*args, **(kwargs or {}))


def _holds_infinity(t: torch.Tensor) -> bool:
    return t.is_floating_point() and bool(t.isinf().any())


def require_specials(outputs: list[torch.Tensor], expected: Expected) -> None:
    """See that NaN and infinities are where the reference has them in both precisions, and that
    where it has them in its own precision only, outputs have them too, or float64's numbers.

    Raises:
        WrongValues: an output has something else; says where.
    """
    rows = zip(as_real(outputs), expected.own, expected.exact, expected.finite, strict=True)
    for number, (value, own, exact, finite) in enumerate(rows):
        if finite is None or not exact.is_floating_point():
            continue
        wrong = ~exact.isfinite() & same(own, exact) & ~same(value, exact)
        wrong |= _is_made_up(value, own, exact)
        if bool(wrong.any()):
            name = "the output" if len(outputs) == 1 else f"output {number}"
            where = tuple(wrong.nonzero()[0].tolist())
            raise WrongValues(
                f"{name} is {value[where].item():.6g} instead of {exact[where].item():.6g} at "
                f"{list(where)}; so are {float(wrong.double().mean()):.2%} of the elements"
            )


def nan_left(outputs: list[torch.Tensor], expected: Expected) -> str:
    """What is wrong if results have NaN where the reference leaves none; empty if nothing is."""
    for number, (value, exact) in enumerate(zip(as_real(outputs), expected.exact, strict=True)):
        n_left = int(value.isnan().sum())
        if n_left and not bool(exact.isnan().any()):
            name = "the output" if len(outputs) == 1 else f"output {number}"
            return f"{name} has {n_left} NaN, and the reference leaves none there"
    return ""


def _is_made_up(value: torch.Tensor, own: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Where an output is finite, the reference is not, and float64 has another number."""
    asked = ~own.isfinite() & exact.isfinite() & value.isfinite()
    if not bool(asked.any()):
        return asked
    is_beyond = exact.abs() > BEYOND * torch.finfo(own.dtype).max
    far = (value - exact).abs() > FAR * row_scale(torch.where(is_beyond, 0.0, exact))
    return asked & (is_beyond | far)
