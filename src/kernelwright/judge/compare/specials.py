"""NaN and infinities in results, as behind a mask or beyond the type's range."""

from __future__ import annotations

import torch

from kernelwright.judge.compare.expected import Expected
from kernelwright.judge.compare.measures import as_real, row_scale, same
from kernelwright.judge.compare.pieces import first_of, mask_of
from kernelwright.judge.refusal import WrongValues

FAR = 0.01
"""Allowed error, relative to the row's largest value, of numbers that are finite where float64 is
finite and the reference is not: nobody knows how well conditioned they are."""
BEYOND = 2.0
"""Factor of a type's largest number: what is larger in float64 is infinite in that type."""


def require_specials(values: list[torch.Tensor], expected: Expected) -> None:
    """See that NaN and infinities are where the reference has them in both precisions, and that
    where it has them in its own precision only, outputs have them too, or float64's numbers.

    Raises:
        WrongValues: an output has something else; says where.
    """
    for number, (value, output) in enumerate(zip(as_real(values), expected.outputs, strict=True)):
        if output.finite is None or not output.is_float:
            continue
        own, exact = output.own, output.exact
        wrong = mask_of(_lacks_special, value, own, exact)
        wrong |= _is_made_up(value, own, exact)
        if bool(wrong.any()):
            name = "the output" if len(values) == 1 else f"output {number}"
            where = first_of(wrong)
            raise WrongValues(
                f"{name} is {value[where].item():.6g} instead of {exact[where].item():.6g} at "
                f"{list(where)}; so are {int(wrong.sum()) / wrong.numel():.2%} of the elements"
            )


def _lacks_special(value: torch.Tensor, own: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """The mask of places where the reference is not finite in both precisions, and an output is
    something else."""
    return ~exact.isfinite() & same(own, exact) & ~same(value, exact)


def _is_made_up(value: torch.Tensor, own: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """The mask of places where an output is finite, the reference is not, and float64 has another
    number."""
    asked = mask_of(lambda v, o, e: ~o.isfinite() & e.isfinite() & v.isfinite(), value, own, exact)
    if not bool(asked.any()):
        return asked
    is_beyond = exact.abs() > BEYOND * torch.finfo(own.dtype).max
    far = (value - exact).abs() > FAR * row_scale(torch.where(is_beyond, 0.0, exact))
    return asked & (is_beyond | far)


def nan_left(values: list[torch.Tensor], expected: Expected) -> str:
    """Say what is wrong if results have NaN where the reference leaves none; empty if nothing
    is."""
    for number, (value, output) in enumerate(zip(as_real(values), expected.outputs, strict=True)):
        n_left = int(value.isnan().sum())
        if n_left and not bool(output.exact.isnan().any()):
            name = "the output" if len(values) == 1 else f"output {number}"
            return f"{name} has {n_left} NaN, and the reference leaves none there"
    return ""
