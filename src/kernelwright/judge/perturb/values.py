"""Distributions: ways to change floating-point inputs beyond what the task draws.

Each changes one tensor. Integers, masks and tensors with a form of their own stay as the task drew
them. NaN among the inputs, and other Python numbers, are made here as well.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from kernelwright.judge.compare.float8 import stored_as
from kernelwright.judge.perturb.patterns import (
    has_other_form,
    is_mask,
    is_symmetric,
    kept,
    laid_out,
    overlaps,
)
from kernelwright.judge.sandbox.layout import flat_source, leaves, map_tensors

LARGE_MEAN = 100.0
"""Standard deviations. E[x²]-E[x]² then loses four digits more than Welford's method."""
LARGEST = 2.0**17
"""Largest value of large inputs. float16 ends at 65504, so a kernel that computes in it overflows
unless it scales."""
SPARSE_SHARE = 0.1
SLICE_SHARE, FEWEST_SLICES = 1 / 16, 4
"""Share of the slices of an axis that become zero (or negative) throughout, at least one; axes of
fewer than FEWEST_SLICES are left alone."""
CONDITION = 100.0
"""Ratio of the largest to the smallest singular value, evenly spread in its logarithm. Columns of a
matrix that is not symmetric get its square root, so that their products have it."""
HUGE = 300.0
"""Beyond what exp takes in float32 (88): a softmax must subtract its maximum."""
STRETCHES = (
    *((largest, 3.0) for largest in (HUGE, 90.0, 30.0, 10.0)),
    *((0.0, times) for times in (3.0, 2.5, 2.0, 1.6, 1.3, 1.1)),
)
"""For references that reject values of HUGE, as an arc cosine does: the largest absolute value, but
at least so many times the task's own. The first one that the reference accepts is used."""
N_OUTLIERS = 8
"""So few that a candidate which samples one number in a thousand sees none of them."""
N_IN_A_ROW = 4
"""Outliers in the same row: with a single one nobody would need to know by how much it leads."""
NEARLY = 15 / 16
"""Size of the largest outlier of the other sign, relative to the largest: in one row the two must
not cancel."""
N_ENDS = 4
"""Numbers set to the integers next to the task's own range, as a probability rounded to one."""
NEXT_TO_HUGE = math.sqrt(HUGE)
"""Size of outliers in all arguments but one, which take turns at being huge. Where two outliers of
300 meet in a product, the error of a sound order of summation is luck: Strassen's algorithm was
refused in one verdict of 40, and the library's own attention in one."""
LARGER = 4.0
"""Outliers of up to HUGE are so many times larger than the largest number of their tensor."""
VARIED = 2.0**-6
"""Relative change of a number that is the same in every draw: large enough to show in bfloat16."""
FEWEST_SPECIAL = 4
"""Numbers of a tensor that gets NaN and both infinities."""

Stretch = tuple[float, float]


@dataclass
class Drawing:
    """The state of one change of a tensor by a distribution."""

    generator: torch.Generator
    dtype: torch.dtype
    """The tensor's own; distributions compute in float32 or wider."""
    has_turn: bool
    """Whether this argument takes its turn at having the largest outliers."""
    stretch: Stretch | None = None
    """One of STRETCHES in place of HUGE."""


Distribution = Callable[[torch.Tensor, Drawing], torch.Tensor]


def centred(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return x - x.mean()


def small(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return x * 1e-3


def large(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    if torch.finfo(draw.dtype).max < LARGEST:
        return x
    return x * (LARGEST / x.abs().max().clamp(min=1e-3))


def shifted(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return x + LARGE_MEAN * _spread(x)


def near_one(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return 1.0 + 0.02 * (x - x.mean()) / x.std().clamp(min=1e-6) if x.numel() > 1 else x


def sparse(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return torch.where(_uniform(x.shape, draw) < SPARSE_SHARE, x, torch.zeros_like(x))


def empty_slices(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return torch.where(_slices(x, draw), torch.zeros_like(x), x)


def negative_slices(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return torch.where(_slices(x, draw), -x.abs() - HUGE * _spread(x), x)


def conditioned(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    if x.dim() < 2:
        return x
    sizes = torch.logspace(0, -math.log10(CONDITION), x.shape[-1], device=x.device)
    if not is_symmetric(x):
        order = torch.randperm(x.shape[-1], generator=draw.generator, device=x.device)
        return x * sizes.sqrt()[order]
    noise = torch.randn(x.shape, generator=draw.generator, device=x.device)
    directions, _ = torch.linalg.qr(noise)
    found: torch.Tensor = _spread(x) * (directions * sizes) @ directions.mT
    return found


def huge(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    if draw.stretch:
        return x * (_stretched(x, draw.stretch) / float(x.abs().max().clamp(min=1e-30)))
    return (x - x.mean()) * (HUGE / x.abs().max().clamp(min=1e-3))


def outliers(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    changed = x.flatten().clone()
    places = torch.randint(x.numel(), (N_OUTLIERS,), generator=draw.generator, device=x.device)
    width = x.shape[-1] if x.dim() else 1
    if x.numel() > width >= N_OUTLIERS:
        places[:N_IN_A_ROW] = places[0] // width * width + places[:N_IN_A_ROW] % width
    shares = (1 + _uniform((N_OUTLIERS,), draw)) / 2
    shares[:2] = torch.tensor((NEARLY, 1.0))  # whether the reference accepts them is then no luck
    signs = torch.arange(N_OUTLIERS, device=x.device) % 2 * 2 - 1
    changed[places] = (_size_of_outliers(x, draw) * shares * signs).to(x.dtype)
    return changed.view(x.shape)


def within_range(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    """Replaces outliers if the reference accepts nothing beyond the task's own range."""
    changed = x.flatten().clone()
    places = torch.randint(x.numel(), (N_OUTLIERS,), generator=draw.generator, device=x.device)
    share = _uniform((N_OUTLIERS,), draw).to(x.dtype)
    changed[places] = x.min() + share * (x.max() - x.min())
    return changed.view(x.shape)


def ends_of_range(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    """Changes numbers as ``within_range``, some of them to the integers next to that range."""
    changed = within_range(x, draw).flatten()
    places = torch.randint(x.numel(), (N_ENDS,), generator=draw.generator, device=x.device)
    changed[places[::2]], changed[places[1::2]] = x.min().floor(), x.max().ceil()
    return changed.view(x.shape)


def transform(
    arguments: list[Any], change: Distribution, seed: int, stretch: Stretch | None = None
) -> list[Any]:
    """Return ``arguments`` under a distribution; shapes, strides, dtypes and forms are kept.

    Shapes:
        As ``arguments``, tensor by tensor.
    """
    turn = seed % max(1, n_drawn(arguments))
    numbers = itertools.count()

    def changed(x: torch.Tensor) -> torch.Tensor:
        if not is_drawn(x):
            return x
        if overlaps(x):
            return changed(flat_source(x)).as_strided(x.shape, x.stride())
        if x.is_complex():
            return torch.view_as_complex(changed(torch.view_as_real(x.resolve_conj())))
        number = next(numbers)
        # A seed for each tensor: inputs that are equal in every draw of the task part ways here.
        generator = torch.Generator(x.device).manual_seed(seed + number)
        draw = Drawing(generator, x.dtype, number == turn, stretch)
        wide = x if x.dtype == torch.float64 else x.float()
        return laid_out(kept(x, stored_as(change(wide, draw), x.dtype)).to(x.dtype), x)

    return list(map_tensors(changed, arguments))


def n_drawn(arguments: list[Any]) -> int:
    """Number of tensors that a distribution changes."""
    return sum(is_drawn(x) for x in leaves(arguments))


def is_drawn(x: torch.Tensor) -> bool:
    """Whether a distribution changes it."""
    if x.is_complex():
        return x.numel() > 0
    return x.is_floating_point() and x.numel() > 0 and not (is_mask(x) or has_other_form(x))


def with_specials(arguments: list[Any], seed: int) -> list[Any]:
    """Return ``arguments`` with a NaN and both infinities in every floating-point tensor."""

    def change(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point() or x.numel() < FEWEST_SPECIAL or overlaps(x):
            return x
        draw = torch.Generator().manual_seed(seed)
        changed = x.clone(memory_format=torch.preserve_format)
        for value in (float("nan"), float("inf"), float("-inf")):
            place = [int(torch.randint(n, (), generator=draw)) for n in x.shape]
            changed[tuple(place)] = value
        return laid_out(changed, x)

    return list(map_tensors(change, arguments))


def vary_numbers(arguments: list[Any], seed: int) -> list[Any]:
    """Return ``arguments`` with every Python float changed by VARIED (a zero becomes VARIED): a
    module must read what it is given."""
    found, form = tree_flatten(arguments)
    sign = random.Random(seed).choice
    varied = [x + (x or 1.0) * VARIED * sign((-1, 1)) if type(x) is float else x for x in found]
    return list(tree_unflatten(varied, form))


def has_numbers(arguments: list[Any]) -> bool:
    """Whether there are Python floats among the arguments."""
    return any(type(leaf) is float for leaf in tree_leaves(arguments))


def _uniform(shape: tuple[int, ...], draw: Drawing) -> torch.Tensor:
    return torch.rand(shape, generator=draw.generator, device=draw.generator.device)


def _spread(x: torch.Tensor) -> torch.Tensor:
    return x.std() if x.numel() > 1 else x.abs().max()


def _slices(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    """Make a mask of some whole slices along every axis: rows, channels, images."""
    found = torch.zeros(x.shape, dtype=torch.bool, device=x.device)
    for axis, n in enumerate(x.shape):
        if n >= FEWEST_SLICES:
            chosen = _uniform((n,), draw) < SLICE_SHARE
            chosen[torch.randint(n, (), generator=draw.generator, device=x.device)] = True
            found |= chosen.view([n if one == axis else 1 for one in range(x.dim())])
    return found


def _stretched(x: torch.Tensor, stretch: Stretch) -> float:
    """Return the largest absolute value that one of STRETCHES gives a tensor."""
    largest, times = stretch
    return max(largest, times * float(x.abs().max()))


def _size_of_outliers(x: torch.Tensor, draw: Drawing) -> float:
    if draw.stretch:
        largest = _stretched(x, draw.stretch)
        return largest if draw.has_turn else min(NEXT_TO_HUGE, largest)
    least = min(HUGE, LARGER * float(x.abs().max()))
    return max(HUGE if draw.has_turn else NEXT_TO_HUGE, least)
