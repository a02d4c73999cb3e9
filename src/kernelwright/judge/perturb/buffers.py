"""Buffers that a candidate is given: those of one number, as a mask that hides nothing yet, and
those that are drawn, as quantised weights, become others."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from kernelwright.judge.compare.measures import is_one_number
from kernelwright.loaders.copies import copied

LONGEST_FILTER = 16
"""Numbers along an axis of a window of ones, as a box filter's."""
TURNED_SHARE = 1 / 8
"""Of the numbers of a table of zeros or ones that become others."""
MOST_WHOLE = 3
"""Among whole numbers in place of zeros, as zero points."""
WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
Bears = Callable[[torch.nn.Module], bool]


@torch.no_grad()
def with_other_buffers(
    module: torch.nn.Module, again: Callable[[], torch.nn.Module], bears: Bears
) -> torch.nn.Module:
    """A copy with those buffers of one that is made ``again`` of another seed that differ there, as
    quantised weights and random directions: they are drawn as weights are. All of them, so that a
    table and its inverse, or weights and their sums, still fit together.

    The module itself where none differ, where the reference does not bear them, or where buffers
    that a candidate is not given, or shapes, differ too: these would no longer fit. What a module
    made anew holds one number in, as counters and running means, was written when this one ran.
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
    """Give the buffers that are all zeros or all ones other values.

    With ``may_turn`` some numbers of tables become what they are in a mask that hides some: zeros
    become ones, ones zeros. Single whole numbers stay, as counters and flags, and so do ones that
    may be a filter.
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
    """Where a share of numbers is, one at least."""
    turned = torch.rand(x.shape, generator=draw) < TURNED_SHARE
    turned.view(-1)[torch.randint(x.numel(), (), generator=draw)] = True
    return turned.to(x.device)


def _may_be_filter(x: torch.Tensor) -> bool:
    """Whether it is a small window, of one channel where there are axes for those."""
    windows = x.shape[2:] or x.shape
    is_of_one = x.dim() == 2 or (x.dim() > 2 and 1 in x.shape[:2])
    return is_of_one and not _is_row(x) and max(windows) <= LONGEST_FILTER


def _is_row(x: torch.Tensor) -> bool:
    return x.numel() == max(x.shape, default=1)


def _may_be_drawn(x: torch.Tensor) -> bool:
    return x.layout is torch.strided and x.numel() > 1 and not is_one_number(x)


def given_buffers(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Those that a candidate is given, by name: the others are no part of a state_dict."""
    given = module.state_dict().keys()
    return {
        name: buffer
        for name, buffer in module.named_buffers()
        if name in given and buffer.layout is torch.strided
    }


def parts_of(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The floating-point numbers of a tensor, sharing its memory: of a complex one its real and its
    imaginary parts; none of other kinds, or of 8 bits, which torch does not calculate with."""
    if x.is_complex():
        return x.real, x.imag
    return (x,) if x.is_floating_point() and x.element_size() > 1 else ()


def from_zero(factor: torch.Tensor) -> torch.Tensor:
    """Numbers in place of zeros, of factors between a half and one and a half: of either sign,
    and of a matrix as small as initialisers draw them; one number by itself is never near zero.
    """
    if factor.numel() == 1:
        return 0.5 * factor
    per_result = factor[0].numel() if factor.dim() > 1 else 1
    return 0.5 * (factor - 1.0) / math.sqrt(per_result)
