"""Weights that no initialiser makes: a candidate that skips some is right until it is trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import IntEnum
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from kernelwright.judge.compare.measures import all_finite, is_one_number
from kernelwright.judge.perturb.admissible import halves
from kernelwright.judge.perturb.buffers import (
    from_zero,
    parts_of,
    randomise_buffers,
)
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import same_shapes
from kernelwright.loaders.copies import copied
from kernelwright.loaders.plain import flatten, weights_of

NEARLY_ZERO = 0.02
"""Effect on numbers of size one below which a weight is replaced: layers begin with scales of 1e-6,
and with products of weights of 1e-10."""
SMALL_SHARE, SMALL_VARIANCE = 1 / 8, 2e-3
"""Share of the running variances that are small, and their size beside the others: an epsilon shows
there."""
SMALL_FACTOR = 1 / 16
"""Factor of the small numbers in parameters of one sign, where a decay is slow."""
MOST_TRIES = 32
"""Runs of the reference that find out which bold weights it accepts."""


class Boldness(IntEnum):
    """How far weights are from those that the module was made with."""

    MILD = 0
    """Parameters of one sign keep it."""
    BOLD = 1
    """Constant parameters get both signs; none is so small that it has no effect; parameters of one
    sign get some small numbers; zeros among other numbers, as in an identity, are replaced; and
    constant buffers change, as those of a frozen norm."""
    BOLDEST = 2
    """All parameters get both signs, and buffers that may be masks change as well."""


def randomised(
    module: torch.nn.Module,
    seed: int,
    run: Callable[[torch.nn.Module], Any],
    kept: Collection[str] = (),
    ordered: Mapping[str, bool] = MappingProxyType({}),
) -> torch.nn.Module:
    """A copy with the boldest weights with which ``run`` stays finite; parameters to be ``kept``
    keep their values. The module itself if there is nothing to change. See
    ``randomise_weights``."""

    def made(boldness: Boldness) -> torch.nn.Module:
        twin = copied(module)
        randomise_weights(twin, seed, boldness, kept, ordered)
        return twin

    boldest = made(Boldness.BOLDEST)
    own, others = weights_of(module), weights_of(boldest)
    if all(torch.equal(own[name], others[name]) for name in own):
        return module
    bears = partial(is_borne, run, instead_of=module)
    if bears(boldest):
        return boldest
    twin = made(Boldness.MILD)
    for bolder in (weights_of(made(Boldness.BOLD)), others):
        twin = emboldened(twin, bolder, bears)
    return twin


@torch.no_grad()
def emboldened(
    twin: torch.nn.Module,
    bold: dict[str, torch.Tensor],
    bears: Callable[[torch.nn.Module], bool],
    most_tries: int = MOST_TRIES,
) -> torch.nn.Module:
    """The module with as many of the bold weights as it accepts: one that it does not, as a
    negative variance, keeps no other from changing."""
    weights = weights_of(twin)
    differing = [name for name in weights if not torch.equal(weights[name], bold[name])]
    waiting = [differing] if differing else []
    for _ in range(most_tries):
        if not waiting:
            break
        names = waiting.pop()
        before = {name: weights[name].clone() for name in names}
        for name in names:
            weights[name].copy_(bold[name])
        if not bears(twin):
            for name in names:
                weights[name].copy_(before[name])
            waiting += halves(names)
    return twin


def is_borne(
    run: Callable[[torch.nn.Module], Any], twin: torch.nn.Module, *, instead_of: torch.nn.Module
) -> bool:
    """Whether the reference accepts a copy's weights: nothing fails, results keep their shapes, and
    finite results stay finite."""
    try:
        found, usual = flatten(run(twin)), flatten(run(instead_of))
    except FAILURES:
        return False
    return same_shapes(found, usual) and (all_finite(found) or not all_finite(usual))


@torch.no_grad()
def randomise_weights(
    module: torch.nn.Module,
    seed: int,
    boldness: Boldness = Boldness.MILD,
    kept: Collection[str] = (),
    ordered: Mapping[str, bool] = MappingProxyType({}),
) -> None:
    """Give every parameter, and the running statistics of batch norms, random values.

    Initialisers leave scales of one and biases of zero: a candidate that skips those is right until
    the module is trained. Parameters to be ``kept`` keep their values, ``ordered`` ones (see
    ``sorted_ones``) are sorted again, and rows for padding stay zero. Both parts of complex numbers
    change independently. Buffers change from BOLD on, and only some, because masks and tables have
    a meaning; see ``randomise_buffers``.
    """
    draw = torch.Generator().manual_seed(seed)
    padding = list(_padding(module))
    for name, parameter in module.named_parameters():
        if name in kept or parameter.numel() == 0:
            continue
        for part in parts_of(parameter):
            _randomise(part, draw, boldness, is_trained=parameter.requires_grad)
        if name in ordered:
            sort_again(parameter, ordered[name])
    for row in padding:
        row.zero_()
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.track_running_stats:
            mean, var = part.running_mean, part.running_var
            if mean is not None and var is not None:
                mean.copy_(torch.randn(mean.shape, generator=draw))
                small = torch.rand(var.shape, generator=draw) < SMALL_SHARE
                small[torch.randint(len(small), (), generator=draw)] = True
                var.copy_(
                    (0.5 + torch.rand(var.shape, generator=draw))
                    * torch.where(small, SMALL_VARIANCE, 1.0)
                )
    if boldness >= Boldness.BOLD:
        randomise_buffers(module, draw, may_turn=boldness == Boldness.BOLDEST)


def _randomise(
    x: torch.Tensor, draw: torch.Generator, boldness: Boldness, *, is_trained: bool
) -> None:
    """Change a parameter in place; zeros in a parameter that is not trained are a mask."""
    factor = (0.5 + torch.rand(x.shape, generator=draw)).to(x)
    is_bold = boldness >= Boldness.BOLD
    if bool((x == 0).all()) or (is_bold and _effect(x) <= NEARLY_ZERO):
        x.copy_(from_zero(factor))
        return
    zeros = x == 0
    is_mask = not is_trained and bool(zeros.any())
    is_signed = has_both_signs(x)
    is_scale = is_one_number(x)
    x.mul_(factor)
    if is_bold and not (is_signed or is_scale or is_mask):
        least = factor.min() if x.numel() > 1 else 0.0  # one of few is small as well
        is_small = (factor < 0.5 + SMALL_SHARE) | (factor == least)
        x.mul_(torch.where(is_small, SMALL_FACTOR, 1.0).to(x))
    takes_any = is_bold if is_scale else boldness == Boldness.BOLDEST and not is_mask
    if is_signed or (takes_any and x.numel() > 1):
        x.mul_(torch.where(factor > 1.0, 1.0, -1.0).to(x))
        if not has_both_signs(x):  # few may have come out alike
            place = torch.randint(x.numel(), (), generator=draw).to(x.device)
            x[torch.unravel_index(place, x.shape)] *= -1.0
    if is_bold and x.dim() > 1 and not is_mask:
        x.copy_(torch.where(zeros, from_zero(factor), x))


def has_both_signs(x: torch.Tensor) -> bool:
    """Whether some numbers are positive and some negative; False for complex tensors."""
    return not x.is_complex() and bool((x > 0).any() and (x < 0).any())


def _effect(parameter: torch.Tensor) -> float:
    """How large it makes numbers of size one: its root mean square, for a matrix times the square
    root of the number of terms of a result."""
    n_results = len(parameter) if parameter.dim() > 1 else parameter.numel()
    return float(torch.linalg.vector_norm(parameter, dtype=torch.float64)) / math.sqrt(n_results)


def _padding(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """The padding rows of embeddings that are zero, as torch keeps them."""
    for part in module.modules():
        number = getattr(part, "padding_idx", None)
        is_table = isinstance(part, (torch.nn.Embedding, torch.nn.EmbeddingBag))
        if is_table and number is not None and not bool(part.weight[number].any()):
            yield part.weight[number]


def sort_again(parameter: torch.Tensor, falls: bool) -> None:
    """Sort each row of it, in place."""
    parameter.copy_(parameter.sort(dim=-1, descending=falls).values)
