"""Inputs beyond the task's own: the distributions, and Python's numbers drawn anew.

Every row of ``DISTRIBUTIONS`` changes floating-point tensors only; integers, masks and scalars
stay as the task drew them. Where the reference does not stay finite under a distribution, the
judge leaves that one out.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from kernelwright.judge.compare.measures import all_finite, as_real, is_whole
from kernelwright.judge.machine.layout import flat_source, leaves, map_tensors, span
from kernelwright.judge.perturb.draws import LARGE_WEIGHTS
from kernelwright.judge.perturb.extremes import (
    BETWEEN,
    ENDS,
    HUGE,
    HUGE_INPUTS,
    OUTLIERS,
    between,
    ends,
    huge,
    outliers,
    size_of_outliers,
    uniform,
    width_of,
)
from kernelwright.judge.perturb.patterns import (
    is_mask,
    is_symmetric,
    kept,
    overlaps,
    with_whole_columns,
)

Distribution = Callable[..., torch.Tensor]
LARGE_MEAN = 100.0
"""In standard deviations: E[x²]-E[x]² then loses four digits more than Welford's method."""
FAR, FAR_MEAN = "far", 3000.0
"""Where a variance is asked for, in float32 or wider: there E[x²]-E[x]² is nothing but rounding,
however it is added up. At LARGE_MEAN a sound sum in one order may be as far off. Elsewhere it would
make results cancel, as one less a cosine."""
LARGE, LARGEST = "large", 2.0**17
"""Beyond float16, which ends at 65504: a kernel that computes in it must scale."""
SPARSE_SHARE = 0.1
SLICED, FEWEST_SLICES = 1 / 16, 4
"""The share of an axis' slices that are zero, or below it, throughout: one at least where there
are so many."""
BELOW, EMPTY, CONSTANT = "below", "empty", "constant"
CONDITIONED, CONDITION = "ill_conditioned", 100.0
"""The largest over the smallest size of a symmetric matrix, spread evenly in its logarithm. Of the
columns of another, in any order, as units are, it is the root: of their products it is the same."""
MATCHED, MATCHED_SHARES = "matched", (1 / 4, 1 / 16)
"""How far a row lies from the one that it is like, of what it lay before: each share in its turn.
The nearer ones have nearly one likeness, and what rounds it is off by as much in every row."""
CLUSTERED, N_CLUSTERS, CLUSTER_SHARE = "clustered", 8, 0.25
"""Rows that follow one another lie near the first of them: how many times, and how far from it, of
what they lay before. Nearer ones would make distances by products lose digits."""
VARIED = 2.0**-6
"""Of a number that is the same in every draw: seen in bfloat16 too."""
HEADROOM = (0.95, 0.75, 0.5, 0.35, 0.2)
"""Powers of a type's largest number, tried in this order as the size of inputs near overflow."""


def _centred(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return x - x.mean()


def _negated(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return -x


def _conditioned(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    if x.dim() < 2:
        return x
    sizes = torch.logspace(0, -math.log10(CONDITION), x.shape[-1], device=x.device)
    if not is_symmetric(x):
        return x * sizes.sqrt()[torch.randperm(x.shape[-1], generator=draw, device=x.device)]
    directions, _ = torch.linalg.qr(torch.randn(x.shape, generator=draw, device=x.device))
    return _spread(x) * (directions * sizes) @ directions.mT


def _matched(
    x: torch.Tensor, draw: torch.Generator, firsts: dict[int, torch.Tensor], share: float
) -> torch.Tensor:
    width = width_of(x)
    first = firsts.setdefault(width, x).reshape(-1, width)
    places = torch.arange(x.numel() // width, device=x.device) % len(first)
    return torch.lerp(first[places].view(x.shape).to(x.dtype), x, share)


def _large(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return x * (LARGEST / x.abs().max().clamp(min=1e-3))


def _small(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return x * 1e-3


def _shifted(x: torch.Tensor, draw: torch.Generator, mean: float = LARGE_MEAN) -> torch.Tensor:
    return x + mean * _spread(x)


def _far(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return _shifted(x, draw, FAR_MEAN)


def _spread(x: torch.Tensor) -> torch.Tensor:
    return x.std() if x.numel() > 1 else x.abs().max()


def _sparse(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return torch.where(uniform(x.shape, draw) < SPARSE_SHARE, x, torch.zeros_like(x))


def _empty(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return torch.where(_slices(x, draw), torch.zeros_like(x), x)


def _below(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return torch.where(_slices(x, draw), -x.abs() - HUGE * _spread(x), x)


def _slices(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Where some slices lie, along every axis: a row, a channel or an image is whole in one."""
    found = torch.zeros(x.shape, dtype=torch.bool, device=x.device)
    for axis, n in enumerate(x.shape):
        if n >= FEWEST_SLICES:
            chosen = uniform((n,), draw) < SLICED
            chosen[torch.randint(n, (), generator=draw, device=x.device)] = True
            found |= chosen.view([n if one == axis else 1 for one in range(x.dim())])
    return found


def _constant(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    # Halfway between numbers of 7 and of 10 bits, nearly: a downcast rounds every element the
    # same way, by almost as much as it can, and the errors cannot average out.
    step = int(128 * uniform((), draw))
    return torch.full_like(x, 1.0 + (step + 0.43125) / 128)


def _one_hot(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    if x.dim() == 0:
        return x
    position = (uniform(x.shape[:-1], draw) * x.shape[-1]).long().unsqueeze(-1)
    values = x.abs().amax(-1, keepdim=True) * (0.5 + uniform((*x.shape[:-1], 1), draw)).to(x.dtype)
    return torch.zeros_like(x).scatter_(-1, position, values)


def _clustered(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    if not has_clusters(x):
        return x
    rows = x.reshape(-1, x.shape[-1])
    size = len(rows) // N_CLUSTERS
    centres = rows[torch.arange(len(rows), device=x.device) // size * size]
    return torch.lerp(centres, rows, CLUSTER_SHARE).view(x.shape)


def _near_one(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    return 1.0 + 0.02 * (x - x.mean()) / x.std().clamp(min=1e-6) if x.numel() > 1 else x


DISTRIBUTIONS: dict[str, Distribution] = {
    "centred": _centred,  # positive inputs make ReLU the identity and hide rounding in sums
    "shifted": _shifted,  # unstable variance formulas
    FAR: _far,  # those of wide rows
    HUGE_INPUTS: huge,  # missing max-subtraction, overflow
    OUTLIERS: outliers,  # shortcuts that look at a sample of their inputs
    LARGE: _large,  # float16 inside
    "negated": _negated,  # shortcuts that hold for positive inputs only
    BELOW: _below,  # maxima that begin at zero
    EMPTY: _empty,  # norms that nothing guards against zero: a matter for a warning
    CONSTANT: _constant,  # downcasts that average out elsewhere
    "one_hot": _one_hot,  # dropped terms and tiles
    "near_one": _near_one,  # products that vanish or overflow elsewhere
    "small": _small,  # zeros that hide under an absolute tolerance
    "sparse": _sparse,
}
"""In the order of what they have caught; a slow reference is checked on the first ones."""
OF_SOME: dict[str, Distribution] = {
    BETWEEN: between,
    ENDS: ends,
    CLUSTERED: _clustered,  # samples of pairs, choices among what is far apart
    CONDITIONED: _conditioned,  # some steps towards a solution, where it is near from the start
    MATCHED: _matched,  # what is off only where arguments are alike, as a contrastive loss
}
"""Those that only some tasks get. What has few rows stays in the second, what is no matrix in the
third, and in the last the first argument of every width: the rows of others are like its rows."""


EQUAL_TERMS = frozenset({"shifted", FAR, BELOW, CONSTANT, "one_hot", "sparse", "near_one", "small"})
"""Distributions whose sums have many equal or nearly equal terms: exponentials of small numbers
are nearly one."""
FAR_FROM_ZERO = frozenset({FAR, BELOW})
"""Those on which a variance loses to its mean what a plain loop's sum is off by, many times over:
rows of 1,024 by 1e-3. Under "shifted" as much would hide E[x²]-E[x]²."""
UNEVEN = frozenset({OUTLIERS, LARGE_WEIGHTS})
"""Those where single numbers outweigh all others."""
SPECIAL = "special"
"""The task's own inputs with a NaN and two infinities in each: how they are passed on is a matter
for a warning."""
OVERFLOWING = "overflowing"
"""The task's own inputs, as large as the reference can take: a warning, likewise."""
NUMBERS = "numbers"
"""The task's own inputs, with other Python floats among them."""
RESAMPLED = "integers"
"""The integer inputs drawn anew from their own, see ``integers``."""
SKEWED = "skewed"
"""The integer inputs, one of their own numbers in half of the places."""
COLLIDING = "index_collisions"
"""The integer inputs, some of them what the reference compares them with, see ``meeting``."""


def with_specials(arguments: list[Any], seed: int) -> list[Any]:
    """``arguments`` with NaN and both infinities somewhere in every floating-point tensor."""

    def change(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point() or x.numel() < 4 or overlaps(x):
            return x
        draw = torch.Generator().manual_seed(seed)
        changed = x.clone(memory_format=torch.preserve_format)
        for value in (float("nan"), float("inf"), float("-inf")):
            place = [int(torch.randint(n, (), generator=draw)) for n in x.shape]
            changed[tuple(place)] = value
        return laid_out(changed, x)

    return map_tensors(change, arguments)


def enlarge(arguments: list[Any], power: float) -> list[Any]:
    """``arguments`` scaled so that the largest number of each is that power of its type's."""

    def change(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point() or x.numel() == 0 or overlaps(x):
            return x
        enlarged = x / x.abs().max().clamp(min=1e-30) * torch.finfo(x.dtype).max ** power
        return laid_out(enlarged, x)

    return map_tensors(change, arguments)


def headroom(arguments: list[Any], bears: Callable[[list[Any]], bool]) -> float:
    """The largest power of the type's range that the reference ``bears``."""
    return next((p for p in HEADROOM if bears(enlarge(arguments, p))), HEADROOM[-1])


def vary_numbers(arguments: list[Any], seed: int) -> list[Any]:
    """Arguments with the Python floats among them changed by VARIED, a zero to that: what a
    module is given, it must read."""
    found, form = tree_flatten(arguments)
    sign = random.Random(seed).choice
    varied = [x + (x or 1.0) * VARIED * sign((-1, 1)) if type(x) is float else x for x in found]
    return tree_unflatten(varied, form)


def has_numbers(arguments: list[Any]) -> bool:
    """Whether there are Python floats among arguments."""
    return any(type(leaf) is float for leaf in tree_leaves(arguments))


def is_telling(
    distribution: str,
    run: Callable[[], list[torch.Tensor]],
    run_usual: Callable[[], list[torch.Tensor]],
) -> bool:
    """Whether the reference's results under a distribution say how right others are."""
    results = as_real(run())
    # Beside weights of one, large sums round by more than they differ: which is largest is luck.
    is_luck = distribution == LARGE and all(map(is_whole, results))
    return not is_luck and finite_as_usual(results, run_usual)


def finite_as_usual(
    results: list[torch.Tensor], run_usual: Callable[[], list[torch.Tensor]]
) -> bool:
    """Whether results are finite, but where the usual ones are not either, as behind masks. Those
    that hide a NaN are one more, see ``with_hidden``."""
    if all_finite(results):
        return True
    others = as_real(run_usual())
    pairs = zip(results, others, strict=False)
    is_usual = (torch.equal(one.isfinite(), usual.isfinite()) for one, usual in pairs)
    return len(results) == len(others) and all(is_usual)


def transform(
    arguments: list[Any],
    distribution: str,
    seed: int,
    stretch: tuple[float, float] | None = None,
) -> list[Any]:
    """``arguments`` under a distribution; shapes, strides and dtypes are kept.

    ``stretch``: of huge inputs and outliers, one of STRETCHES in place of HUGE.

    Shapes:
        As ``arguments``, tensor by tensor.
    """
    turn = seed % max(1, n_drawn(arguments))
    numbers = itertools.count()
    firsts: dict[int, torch.Tensor] = {}

    def change(x: torch.Tensor) -> torch.Tensor:
        if not _is_drawn(x):
            return x
        if overlaps(x):
            return change(flat_source(x)).as_strided(x.shape, x.stride())
        if x.is_complex():
            return torch.view_as_complex(change(torch.view_as_real(x.resolve_conj())))
        number = next(numbers)
        is_huge = number == turn
        # Each its own: inputs that are alike in every draw part ways here.
        draw = torch.Generator(x.device).manual_seed(seed + number)
        if distribution == LARGE and torch.finfo(x.dtype).max < LARGEST:
            return x  # as infinities they would be a matter for a warning
        wide = x if x.dtype == torch.float64 else x.float()
        how = {}
        if distribution == OUTLIERS:
            how = {"largest": size_of_outliers(x, stretch, is_huge=is_huge)}
        if distribution == HUGE_INPUTS:
            how = {"stretch": stretch}
        if distribution == MATCHED:
            how = {"firsts": firsts, "share": MATCHED_SHARES[seed % len(MATCHED_SHARES)]}
        function = OF_SOME.get(distribution) or DISTRIBUTIONS[distribution]
        changed = kept(x, function(wide, draw, **how).to(x.dtype))
        return laid_out(with_whole_columns(x, changed, draw), x)

    return map_tensors(change, arguments)


def laid_out(changed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """``changed`` with the strides of ``x``, and nothing between its elements: all of that memory
    is a candidate's to read, and might hold what the judge has freed."""
    if changed.stride() == x.stride():
        return changed
    memory = x.new_zeros(span(tuple(x.shape), x.stride()))
    return memory.as_strided(x.shape, x.stride()).copy_(changed)


def has_clusters(x: torch.Tensor) -> bool:
    """Whether there are rows enough for clusters of them."""
    return x.dim() > 1 and x.numel() >= N_CLUSTERS * FEWEST_SLICES * x.shape[-1]


def can_cluster(arguments: list[Any]) -> bool:
    """Whether a tensor that a distribution changes has."""
    return any(has_clusters(x) for x in leaves(arguments) if _is_drawn(x))


def can_match(arguments: list[Any]) -> bool:
    """Whether two tensors that a distribution changes have rows of one width."""
    widths = [width_of(x) for x in leaves(arguments) if _is_drawn(x)]
    return len(widths) > len({*widths})


def n_drawn(arguments: list[Any]) -> int:
    """How many tensors a distribution changes."""
    return sum(_is_drawn(x) for x in leaves(arguments))


def _is_drawn(x: torch.Tensor) -> bool:
    is_number = (x.is_floating_point() or x.is_complex()) and x.numel() > 0
    return is_number and not is_mask(x)
