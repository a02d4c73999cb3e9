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
"""Share of the numbers of a table of zeros or ones that are changed."""
MOST_WHOLE = 3
"""Largest integer put in place of zeros, as zero points."""
WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
Bears = Callable[[torch.nn.Module], bool]


@torch.no_grad()
def with_other_buffers(
    module: torch.nn.Module, again: Callable[[], torch.nn.Module], bears: Bears
) -> torch.nn.Module:
    """A copy with the random buffers (quantised weights, random directions) of a module that is
    made ``again`` with another seed.

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


def randomise_buffers(module: torch.nn.Module, draw: torch.Generator, *, may_turn: bool) -> None:
    """Give other values to buffers that are all zeros or all ones.

    With ``may_turn`` some numbers of tables are flipped, as in a mask that hides something. Single
    integers stay, as counters and flags, and so do ones that may be a box filter.
    """
    for buffer in given_buffers(module).values():
        if buffer.numel() == 0 or not is_one_number(buffer):
            continue
        number = buffer.flatten()[0].item()
        if number not in (0, 1) or (number == 1 and _may_be_filter(buffer)):
            continue
        if buffer.dtype is torch.bool or buffer.dtype in WHOLE:
            if buffer.numel() > 1:
                _randomise_whole(buffer, draw, may_turn)
            continue
        for part in parts_of(buffer):
            _randomise_part(part, draw, may_turn and not _is_row(buffer))


def _randomise_part(x: torch.Tensor, draw: torch.Generator, may_turn: bool) -> None:
    is_zero = not bool(x.any())
    factor = (0.5 + torch.rand(x.shape, generator=draw)).to(x)
    turned = _turned(x, draw) & may_turn
    x.copy_((from_zero(factor) if is_zero else factor).masked_fill(turned, is_zero))


def _randomise_whole(x: torch.Tensor, draw: torch.Generator, may_turn: bool) -> None:
    if x.dtype is torch.bool:
        x.logical_xor_(_turned(x, draw))
        return
    other = torch.randint(1, MOST_WHOLE + 1, x.shape, generator=draw).to(x)
    if bool(x.any()):
        other = 2 * (other % 2) if may_turn else torch.zeros_like(x)
    elif not may_turn:
        other.fill_(1)
    x.copy_(torch.where(_turned(x, draw), other, x))


def _turned(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """A random mask of TURNED_SHARE of the numbers, at least one."""
    turned = torch.rand(x.shape, generator=draw) < TURNED_SHARE
    turned.view(-1)[torch.randint(x.numel(), (), generator=draw)] = True
    return turned.to(x.device)


def _may_be_filter(x: torch.Tensor) -> bool:
    """Whether it is a small window, of one channel if it has channels."""
    windows = x.shape[2:] or x.shape
    is_of_one = x.dim() == 2 or (x.dim() > 2 and 1 in x.shape[:2])
    return is_of_one and not _is_row(x) and max(windows) <= LONGEST_FILTER


def _is_row(x: torch.Tensor) -> bool:
    return x.numel() == max(x.shape, default=1)


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
    """Numbers in place of zeros, made from factors between 0.5 and 1.5.

    They have either sign; those of a matrix are as small as initialisers draw them; a single number
    is never near zero.
    """
    if factor.numel() == 1:
        return 0.5 * factor
    per_result = factor[0].numel() if factor.dim() > 1 else 1
    return 0.5 * (factor - 1.0) / math.sqrt(per_result)
