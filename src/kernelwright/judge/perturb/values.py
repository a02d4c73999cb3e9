"""Distributions: ways to change floating-point inputs beyond what the task draws.

Each changes one tensor; integers, masks and Python numbers stay as the task drew them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.judge.perturb.laid_out import laid_out
from kernelwright.judge.perturb.patterns import (
    is_mask,
    is_symmetric,
    kept,
    overlaps,
    with_whole_columns,
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
N_CLUSTERS, CLUSTER_SHARE = 8, 0.25
"""Number of clusters of consecutive rows, and how much of a row's distance from the first row of
its cluster is left. In tighter clusters distances computed through products would lose digits."""
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
LARGER = 2.0
"""Outliers are at least so many times larger than all other numbers of their tensor."""

Stretch = tuple[float, float]


@dataclass
class Drawing:
    """What a distribution knows besides the tensor that it changes."""

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


def negated(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return -x


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


def constant(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    """One value, nearly halfway between neighbours of 7 and of 10 bits: a downcast rounds every
    element the same way, by almost as much as it can, and the errors do not average out."""
    step = int(128 * uniform((), draw))
    return torch.full_like(x, 1.0 + (step + 0.43125) / 128)


def one_hot(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    if x.dim() == 0:
        return x
    position = (uniform(x.shape[:-1], draw) * x.shape[-1]).long().unsqueeze(-1)
    values = x.abs().amax(-1, keepdim=True) * (0.5 + uniform((*x.shape[:-1], 1), draw)).to(x.dtype)
    return torch.zeros_like(x).scatter_(-1, position, values)


def sparse(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    return torch.where(uniform(x.shape, draw) < SPARSE_SHARE, x, torch.zeros_like(x))


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
    return _spread(x) * (directions * sizes) @ directions.mT


def clustered(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    if not has_clusters(x):
        return x
    rows = x.reshape(-1, x.shape[-1])
    size = len(rows) // N_CLUSTERS
    centres = rows[torch.arange(len(rows), device=x.device) // size * size]
    return torch.lerp(centres, rows, CLUSTER_SHARE).view(x.shape)


def huge(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    if draw.stretch:
        return x * (_stretched(x, draw.stretch) / float(x.abs().max().clamp(min=1e-30)))
    return (x - x.mean()) * (HUGE / x.abs().max().clamp(min=1e-3))


def outliers(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    changed = x.flatten().clone()
    places = torch.randint(x.numel(), (N_OUTLIERS,), generator=draw.generator, device=x.device)
    width = row_length(x)
    if x.numel() > width >= N_OUTLIERS:
        places[:N_IN_A_ROW] = places[0] // width * width + places[:N_IN_A_ROW] % width
    shares = (1 + uniform((N_OUTLIERS,), draw)) / 2
    shares[:2] = torch.tensor((NEARLY, 1.0))  # whether the reference accepts them is then no luck
    signs = torch.arange(N_OUTLIERS, device=x.device) % 2 * 2 - 1
    changed[places] = (_size_of_outliers(x, draw) * shares * signs).to(x.dtype)
    return changed.view(x.shape)


def within_range(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    """In place of outliers, where the reference takes nothing beyond the task's own range."""
    changed = x.flatten().clone()
    places = torch.randint(x.numel(), (N_OUTLIERS,), generator=draw.generator, device=x.device)
    share = uniform((N_OUTLIERS,), draw).to(x.dtype)
    changed[places] = x.min() + share * (x.max() - x.min())
    return changed.view(x.shape)


def ends_of_range(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    """As ``within_range``, some of them the integers next to that range."""
    changed = within_range(x, draw).flatten()
    places = torch.randint(x.numel(), (N_ENDS,), generator=draw.generator, device=x.device)
    changed[places[::2]], changed[places[1::2]] = x.min().floor(), x.max().ceil()
    return changed.view(x.shape)


def transform(
    arguments: list[Any], change: Distribution, seed: int, stretch: Stretch | None = None
) -> list[Any]:
    """``arguments`` under a distribution; shapes, strides, dtypes and patterns are kept.

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
        found = kept(x, change(wide, draw).to(x.dtype))
        return laid_out(with_whole_columns(x, found, generator), x)

    return map_tensors(changed, arguments)


def n_drawn(arguments: list[Any]) -> int:
    """Number of tensors that a distribution changes."""
    return sum(is_drawn(x) for x in leaves(arguments))


def is_drawn(x: torch.Tensor) -> bool:
    """Whether a distribution changes it."""
    is_number = (x.is_floating_point() or x.is_complex()) and x.numel() > 0
    return is_number and not is_mask(x)


def has_clusters(x: torch.Tensor) -> bool:
    """Whether it has enough rows to form clusters of them."""
    return x.dim() > 1 and x.numel() >= N_CLUSTERS * FEWEST_SLICES * x.shape[-1]


def row_length(x: torch.Tensor) -> int:
    return x.shape[-1] if x.dim() else 1


def uniform(shape: tuple[int, ...], draw: Drawing) -> torch.Tensor:
    return torch.rand(shape, generator=draw.generator, device=draw.generator.device)


def _spread(x: torch.Tensor) -> torch.Tensor:
    return x.std() if x.numel() > 1 else x.abs().max()


def _slices(x: torch.Tensor, draw: Drawing) -> torch.Tensor:
    """A mask of some whole slices along every axis: rows, channels, images."""
    found = torch.zeros(x.shape, dtype=torch.bool, device=x.device)
    for axis, n in enumerate(x.shape):
        if n >= FEWEST_SLICES:
            chosen = uniform((n,), draw) < SLICE_SHARE
            chosen[torch.randint(n, (), generator=draw.generator, device=x.device)] = True
            found |= chosen.view([n if one == axis else 1 for one in range(x.dim())])
    return found


def _stretched(x: torch.Tensor, stretch: Stretch) -> float:
    """The largest absolute value that one of STRETCHES gives a tensor."""
    largest, times = stretch
    return max(largest, times * float(x.abs().max()))


def _size_of_outliers(x: torch.Tensor, draw: Drawing) -> float:
    if draw.stretch:
        largest = _stretched(x, draw.stretch)
        return largest if draw.has_turn else min(NEXT_TO_HUGE, largest)
    least = min(HUGE, 2 * LARGER * float(x.abs().max()))  # the smallest has half of it
    return max(_size_that_sums_show(x, draw.dtype) if draw.has_turn else NEXT_TO_HUGE, least)


def _size_that_sums_show(x: torch.Tensor, dtype: torch.dtype) -> float:
    """HUGE, or in bfloat16 so much that all outliers are half of a sum over the tensor: a mean of
    half a million numbers moves by less than bfloat16 rounds when eight of them are 300."""
    if dtype != torch.bfloat16:
        return HUGE
    return max(HUGE, float(x.abs().sum(dtype=torch.float32)) / N_OUTLIERS)
