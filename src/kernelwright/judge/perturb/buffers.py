"""Other values for the buffers that a candidate is given: constant ones, as a mask that hides
nothing yet, and random ones, as quantised weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from kernelwright.judge.compare.measures import is_one_number
from kernelwright.loaders.copies import copied

LONGEST_FILTER = 16
"""Longest side of a window of ones that may be a box filter."""
TURNED_SHARE = 1 / 8
"""Share of the numbers of a table of zeros or ones that are flipped."""
Bears = Callable[[torch.nn.Module], bool]


@torch.no_grad()
def with_other_buffers(
    module: torch.nn.Module, again: Callable[[], torch.nn.Module], bears: Bears
) -> torch.nn.Module:
    """Make a copy with the random buffers (quantised weights, random directions) of a module that
    is made ``again`` with another seed.

    All of them are taken, so that a table and its inverse, or weights and their sums, still fit
    together. The module itself is returned if none differ, if the reference does not accept them,
    or if shapes or buffers that a candidate is not given differ too: those would no longer fit.
    Buffers that are constant in a new module, as counters and running means, are left alone.
    """
    own = given_buffers(module)
    if not any(map(_may_be_drawn, own.values())):
        return module
    others, made = dict(again().named_buffers()), dict(module.named_buffers())
    if any(name not in others or others[name].shape != x.shape for name, x in made.items()):
        return module
    drawn = {name: x.to(made[name]) for name, x in others.items() if _may_be_drawn(x)}
    differing = {name for name, x in drawn.items() if not torch.equal(x, made[name])}
    if not differing or not differing <= set(own):
        return module
    twin = copied(module)
    for name, buffer in given_buffers(twin).items():
        if name in differing:
            buffer.copy_(drawn[name])
    return twin if bears(twin) else module


def randomise_buffers(module: torch.nn.Module, draw: torch.Generator) -> None:
    """Give other values to buffers that are all zeros or all ones: the statistics of a frozen norm,
    zero points, masks that hide nothing yet.

    Some numbers of tables and of integers are flipped. Single integers stay, as counters and flags,
    and so do small windows of ones, which may be box filters.
    """
    for x in given_buffers(module).values():
        number = x.flatten()[0].item() if x.numel() and is_one_number(x) else None
        is_table = x.numel() > max(x.shape, default=1)
        if number not in (0, 1) or (number and is_table and max(x.shape[-2:]) <= LONGEST_FILTER):
            continue
        is_turned = torch.rand(x.shape, generator=draw) < TURNED_SHARE
        is_turned.view(-1)[torch.randint(x.numel(), (), generator=draw)] = True
        is_turned = is_turned.to(x.device)
        if not (x.is_floating_point() or x.is_complex()) and x.numel() > 1:
            x.copy_(torch.where(is_turned, 1 - number, x))
        for part in parts_of(x):
            factor = (0.5 + torch.rand(x.shape, generator=draw)).to(part)
            other = factor if number else from_zero(factor)
            part.copy_(other.masked_fill(is_turned, 1.0 - number) if is_table else other)


def _may_be_drawn(x: torch.Tensor) -> bool:
    return x.layout is torch.strided and x.numel() > 1 and not is_one_number(x)


def given_buffers(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The buffers that are part of the state_dict, by name: a candidate is given no others."""
    given = module.state_dict().keys()
    return {
        name: buffer
        for name, buffer in module.named_buffers()
        if name in given and buffer.layout is torch.strided
    }


def parts_of(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The floating-point parts of a tensor, sharing its memory: real and imaginary ones of a
    complex tensor; none of integers, and of 8-bit floats, which torch does not calculate with."""
    if x.is_complex():
        return x.real, x.imag
    return (x,) if x.is_floating_point() and x.element_size() > 1 else ()


def from_zero(factor: torch.Tensor) -> torch.Tensor:
    """Make numbers in place of zeros, from factors between 0.5 and 1.5.

    They have either sign; those of a matrix are as small as initialisers draw them; a single number
    is never near zero.
    """
    if factor.numel() == 1:
        return 0.5 * factor
    per_result = factor[0].numel() if factor.dim() > 1 else 1
    return 0.5 * (factor - 1.0) / math.sqrt(per_result)
