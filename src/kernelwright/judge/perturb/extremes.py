"""Inputs far from the task's own: huge ones, and a few among others."""

from __future__ import annotations

import math

import torch

HUGE_INPUTS, HUGE = "huge", 300.0
"""Beyond what exp takes in float32 (88): a softmax must subtract its maximum."""
STRETCHES = (
    *((largest, 3.0) for largest in (HUGE, 90.0, 30.0, 10.0)),
    *((0.0, times) for times in (3.0, 2.5, 2.0, 1.6, 1.3, 1.1)),
)
"""Where the reference takes no HUGE ones of either sign, as an arc cosine: the largest number of a
tensor, or how many times its own at least. The first that is borne shows what holds for a task's
usual range alone."""
OUTLIERS, N_OUTLIERS = "outliers", 8
"""Few enough that whoever looks at one number in a thousand sees none of them."""
N_IN_A_ROW = 4
"""Of them, in one and the same: of a single one nobody has to say by how much it is the largest."""
NEARLY = 15 / 16
"""Of the largest, that the largest of the other sign has: in one row they must not cancel."""
BETWEEN = "between"
"""In place of outliers where the reference takes nothing beyond the task's own range."""
ENDS, N_ENDS = "ends", 4
"""In its place where the reference takes that: some of them are the whole numbers next to that
range, as a probability that rounding made one."""
NEXT_TO_HUGE = math.sqrt(HUGE)
"""Outliers of all arguments but one, which is each in its turn. Where two of 300 meet in a product
the error of a sound order is luck: Strassen's algorithm was refused in one verdict of 40, and the
library's own attention in one."""
MOST_HUGE = 3
"""Arguments that have their turn in one round of checks."""
LARGER = 2.0
"""Than all else in their tensor, at least: or they would be no outliers."""


def huge(
    x: torch.Tensor, draw: torch.Generator, stretch: tuple[float, float] | None = None
) -> torch.Tensor:
    if stretch:
        return x * (_stretched(x, stretch) / float(x.abs().max().clamp(min=1e-30)))
    return (x - x.mean()) * (HUGE / x.abs().max().clamp(min=1e-3))


def _stretched(x: torch.Tensor, stretch: tuple[float, float]) -> float:
    """The size that one of STRETCHES means for a tensor."""
    least, times = stretch
    return max(least, times * float(x.abs().max()))


def outliers(x: torch.Tensor, draw: torch.Generator, largest: float = HUGE) -> torch.Tensor:
    changed = x.flatten().clone()
    places = torch.randint(x.numel(), (N_OUTLIERS,), generator=draw, device=x.device)
    width = width_of(x)
    if x.numel() > width >= N_OUTLIERS:
        places[:N_IN_A_ROW] = places[0] // width * width + places[:N_IN_A_ROW] % width
    shares = (1 + uniform((N_OUTLIERS,), draw)) / 2
    shares[:2] = torch.tensor((NEARLY, 1.0))  # or it would be luck whether the reference bears them
    signs = torch.arange(N_OUTLIERS, device=x.device) % 2 * 2 - 1
    changed[places] = (largest * shares * signs).to(x.dtype)
    return changed.view(x.shape)


def size_of_outliers(
    x: torch.Tensor, stretch: tuple[float, float] | None, *, is_huge: bool
) -> float:
    if stretch:
        largest = _stretched(x, stretch)
        return largest if is_huge else min(NEXT_TO_HUGE, largest)
    least = min(HUGE, 2 * LARGER * float(x.abs().max()))  # half of it is the least of them
    return max(_sum_of_many(x) if is_huge else NEXT_TO_HUGE, least)


def _sum_of_many(x: torch.Tensor) -> float:
    """An outlier's size. A mean of half a million numbers moves by less than bfloat16 rounds when
    some are 300: together they are half of what is added up, which that type's range has room for.
    """
    if x.dtype != torch.bfloat16:
        return HUGE
    return max(HUGE, float(x.abs().sum(dtype=torch.float32)) / N_OUTLIERS)


def between(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    changed = x.flatten().clone()
    places = torch.randint(x.numel(), (N_OUTLIERS,), generator=draw, device=x.device)
    share = uniform((N_OUTLIERS,), draw).to(x.dtype)
    changed[places] = x.min() + share * (x.max() - x.min())
    return changed.view(x.shape)


def ends(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    changed = between(x, draw).flatten()
    places = torch.randint(x.numel(), (N_ENDS,), generator=draw, device=x.device)
    changed[places[::2]], changed[places[1::2]] = x.min().floor(), x.max().ceil()
    return changed.view(x.shape)


def width_of(x: torch.Tensor) -> int:
    """Numbers of a row."""
    return x.shape[-1] if x.dim() else 1


def uniform(shape: tuple[int, ...], draw: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, generator=draw, device=draw.device)
