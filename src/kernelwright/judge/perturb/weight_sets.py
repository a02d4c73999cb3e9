"""Sets of weights: the module's own, the judge's usual ones, and some as training may leave them.

Initialisers leave scales of one and biases of zero, and a candidate that skips those is right until
the module is trained. Large weights show what is right for small numbers only, as a softmax without
its maximum: behind a norm no input is large. In one set a few numbers of each parameter differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from typing import Any

import torch

from kernelwright.judge.compare.expected import MOST_TYPICAL, USELESS
from kernelwright.judge.compare.measures import (
    all_finite,
    finite_in_both,
    furthest,
    is_one_number,
    row_scale,
    typical_error,
)
from kernelwright.judge.perturb.accepted import accepted_parts
from kernelwright.judge.perturb.buffers import (
    from_zero,
    parts_of,
    randomise_buffers,
    with_other_buffers,
)
from kernelwright.judge.perturb.patterns import SHORTEST, falls, in_order
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import bytes_of, same_shapes
from kernelwright.loaders.copies import copied
from kernelwright.loaders.plain import flatten, weights_of

USUAL, AS_MADE = "usual", "as made"
"""Weights drawn by the judge, which all calls have but those of one check; and the module's own.
A candidate could find that a branch is scaled by 1e-6, and leave it out as long as it is."""
TOUCHED = "touched"
"""The usual weights with some numbers of each parameter doubled."""
LARGE = "large"
"""Weights larger than any initialiser draws."""
FACTORS = (16.0, 4.0)
"""Largest factors of large weights, tried in this order."""
N_OUTLIERS, FEWEST = 8, 256
"""Single numbers that are larger still by the same factor, in matrices of at least FEWEST
numbers."""
TOUCHED_SHARE = 1 / 64
"""Share of each parameter's numbers that are doubled: a candidate that samples a few numbers sees
no change, but results show it."""
NEARLY_ZERO = 0.02
"""Effect on numbers of size one below which a weight is replaced: layers begin with scales of 1e-6,
and with products of weights of 1e-10."""
SMALL_SHARE, SMALL_VARIANCE = 1 / 8, 2e-3
"""Share of the running variances that are small, and their size beside the others: an epsilon shows
there."""
SMALL_FACTOR = 1 / 16
"""Factor of the smallest number of a parameter that keeps its sign: that decay is slow."""
MOST_TRIES, MOST_LARGE_TRIES = 32, 9
"""Runs of the reference that find out which weights it accepts, and which large ones."""
FEW = 16
"""Distinct values up to which a frozen parameter counts as a filter: random layers have more."""

Run = Callable[[torch.nn.Module], Any]


def sets_of_weights(
    module: torch.nn.Module,
    again: Callable[[], torch.nn.Module],
    seed: int,
    runs: tuple[Run, Run],
    has_room: Callable[[int], bool],
) -> dict[str, torch.nn.Module]:
    """Make the module with its own weights and with others, by name, the usual ones first.

    ``again`` makes a new module; further sets are made while there is room for their bytes. For
    ``runs`` see ``enlarged``.
    """
    again = cache(again)  # at most one is made
    kept = constants(module, again)
    other = with_other_buffers(module, again, partial(is_borne, runs[0], instead_of=module))
    other = randomised(other, seed, runs[0], kept, run_moved=runs[1])
    sets = {USUAL: other, AS_MADE: module}
    n_bytes = bytes_of(weights_of(other))
    if other is not module and has_room(n_bytes):
        large = enlarged(other, seed + 1, *runs, kept)
        if has_room(2 * n_bytes):  # right after the usual ones, which a candidate then knows
            sets |= touched(other, seed + 2, runs[0], kept)
        sets |= large
    return sets


def constants(module: torch.nn.Module, again: Callable[[], torch.nn.Module]) -> frozenset[str]:
    """Name the parameters that are part of the task and keep their values.

    They are sorted whatever the seed, as bin edges; or they need no gradient, and are the same when
    the module is made ``again`` with another seed, as filters. In a module without any gradients,
    frozen for inference, only those of few distinct values count. Beside weights an identity never
    counts: training begins with those.
    """
    parameters = dict(module.named_parameters())
    is_trained = any(p.requires_grad for p in parameters.values())
    ordered = {name for name, p in parameters.items() if _is_sorted(p)}
    asked = {
        name
        for name, p in parameters.items()
        if not (p.requires_grad or p.numel() == 0 or is_one_number(p))
        and (is_trained or _are_few(p))
    }
    others = dict(again().named_parameters()) if asked or ordered else {}
    found = {name for name in ordered if name in others and _is_sorted(others[name])}
    for name in asked & others.keys():
        if torch.equal(parameters[name], others[name].to(parameters[name])):
            found.add(name)
    has_weights = len(found) < len(parameters)
    return frozenset(name for name in found if not (has_weights and _is_identity(parameters[name])))


def _is_identity(x: torch.Tensor) -> bool:
    return x.dim() == 2 and torch.equal(x, torch.eye(*x.shape).to(x))


def _is_sorted(x: torch.Tensor) -> bool:
    return x.is_floating_point() and x.numel() >= SHORTEST and (in_order(x) or falls(x))


def _are_few(x: torch.Tensor) -> bool:
    """Whether there are at most FEW distinct values; a part of a large tensor tells first."""
    numbers = torch.view_as_real(x) if x.is_complex() else x
    return all(n.unique().numel() <= FEW for n in (numbers.flatten()[: FEW**2], numbers))


def randomised(
    module: torch.nn.Module,
    seed: int,
    run: Run,
    kept: Collection[str] = (),
    *,
    run_moved: Run | None = None,
) -> torch.nn.Module:
    """Make a copy with the boldest weights with which ``run`` stays finite; parameters to be
    ``kept`` keep their values. The module itself is returned if there is nothing to change.

    With ``run_moved``, whose inputs are moved in their last digits, batch norms of narrow networks
    get no small variances where these leave no digits.
    """

    def made(*, is_bold: bool, has_small: bool = True) -> torch.nn.Module:
        twin = copied(module)
        randomise_weights(twin, seed, is_bold=is_bold, has_small=has_small, kept=kept)
        return twin

    bold = made(is_bold=True)
    if _are_same(module, bold):
        return module
    bears = partial(is_borne, run, instead_of=module)
    is_bold_borne = bears(bold)
    if is_bold_borne and (run_moved is None or _has_digits(bold, run, run_moved)):
        return bold
    # In each of fifty layers small variances overflow, or leave no digits of bfloat16.
    even = made(is_bold=True, has_small=False)
    if not _are_same(bold, even) and bears(even):
        return even
    if is_bold_borne:
        return bold
    mild = emboldened(copied(module), made(is_bold=False), bears, MOST_TRIES)
    return emboldened(mild, bold, bears, MOST_TRIES)


def _has_digits(module: torch.nn.Module, run: Run, run_moved: Run) -> bool:
    """Whether results with these weights hardly move, but for single numbers, when inputs move in
    their last digits; results that are not narrow do not count."""
    try:
        pairs = [*zip(flatten(run(module)), flatten(run_moved(module)), strict=True)]
    except FAILURES:
        return False
    for one, other in pairs:
        if one.is_floating_point() and one.element_size() < 4:
            exact, finite = one.double(), finite_in_both(other, one)
            moved = typical_error(other, exact, finite, row_scale(exact))
            if not moved <= MOST_TYPICAL:
                return False
    return True


def _are_same(module: torch.nn.Module, other: torch.nn.Module) -> bool:
    own, others = weights_of(module), weights_of(other)
    return all(torch.equal(own[name], others[name]) for name in own)


@torch.no_grad()
def emboldened(
    twin: torch.nn.Module,
    bold: torch.nn.Module,
    bears: Callable[[torch.nn.Module], bool],
    most_tries: int,
) -> torch.nn.Module:
    """Give the module as many of the bold weights as it accepts: one that it does not, as a
    negative variance, keeps no other from changing."""
    weights, others = weights_of(twin), weights_of(bold)
    before = {name: x.clone() for name, x in weights.items() if not torch.equal(x, others[name])}

    def set_bold(names: Collection[str]) -> None:
        for name, value in before.items():
            weights[name].copy_(others[name] if name in names else value)

    def is_accepted(names: list[str]) -> bool:
        set_bold(names)
        return bears(twin)

    set_bold(accepted_parts([*before], is_accepted, most_tries))
    return twin


def is_borne(run: Run, twin: torch.nn.Module, *, instead_of: torch.nn.Module) -> bool:
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
    *,
    is_bold: bool = False,
    has_small: bool = True,
    kept: Collection[str] = (),
) -> None:
    """Give every parameter, and the running statistics of batch norms, random values; ``has_small``
    says whether some of their variances are small.

    Parameters to be ``kept`` keep their values, and rows for padding stay zero. Both parts of
    complex numbers change independently. Bold weights get both signs, none is so small that it has
    no effect, and constant buffers change too.
    """
    draw = torch.Generator().manual_seed(seed)
    padding = list(_padding(module))
    for name, parameter in module.named_parameters():
        if name not in kept and parameter.numel():
            for part in parts_of(parameter):
                _randomise(part, draw, is_bold=is_bold, is_trained=parameter.requires_grad)
    for row in padding:
        row.zero_()
    for layer in module.modules():
        if isinstance(layer, torch.nn.modules.batchnorm._NormBase) and layer.track_running_stats:
            mean, var = layer.running_mean, layer.running_var
            if mean is not None and var is not None:
                mean.copy_(torch.randn(mean.shape, generator=draw))
                small = torch.rand(var.shape, generator=draw) < SMALL_SHARE
                small[torch.randint(len(small), (), generator=draw)] = True
                sizes = 0.5 + torch.rand(var.shape, generator=draw)
                var.copy_(sizes * torch.where(small & has_small, SMALL_VARIANCE, 1.0))
    if is_bold:
        randomise_buffers(module, draw)


def _randomise(x: torch.Tensor, draw: torch.Generator, *, is_bold: bool, is_trained: bool) -> None:
    """Change a parameter in place; zeros in a parameter that is not trained are a mask."""
    factor = (0.5 + _uniform(x, draw)).to(x)
    if bool((x == 0).all()) or (is_bold and _effect(x) <= NEARLY_ZERO):
        x.copy_(from_zero(factor))
        return
    zeros = x == 0
    is_mask = not is_trained and bool(zeros.any())
    is_signed = has_both_signs(x)
    x.mul_(factor)
    if not (is_bold or is_signed or is_mask) and x.numel() > 1:
        x.mul_(torch.where(factor == factor.min(), SMALL_FACTOR, 1.0).to(x))
    if is_signed or (is_bold and not is_mask and x.numel() > 1):
        x.mul_(torch.where(factor > 1.0, 1.0, -1.0).to(x))
        if not has_both_signs(x):  # few may have come out alike
            place = torch.randint(x.numel(), (), generator=draw).to(x.device)
            x[torch.unravel_index(place, x.shape)] *= -1.0
    if is_bold and x.dim() > 1 and not is_mask:
        x.copy_(torch.where(zeros, from_zero(factor), x))


def _uniform(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Draw numbers from 0 to 1 in the shape of ``x``, on its device: a CPU takes four seconds for a
    network of 2.6 GB, and nobody measures on the GPU meanwhile."""
    if x.device.type == "cpu":
        return torch.rand(x.shape, generator=draw)
    seed = int(torch.randint(2**62, (), generator=draw))
    own = torch.Generator(x.device).manual_seed(seed)
    return torch.rand(x.shape, generator=own, device=x.device)


def has_both_signs(x: torch.Tensor) -> bool:
    """Whether some numbers are positive and some negative; False for complex tensors."""
    return not x.is_complex() and bool((x > 0).any() and (x < 0).any())


def _effect(parameter: torch.Tensor) -> float:
    """Estimate how large it makes numbers of size one: its root mean square, for a matrix times the
    square root of the number of terms of a result."""
    n_results = len(parameter) if parameter.dim() > 1 else parameter.numel()
    return float(torch.linalg.vector_norm(parameter, dtype=torch.float64)) / math.sqrt(n_results)


def _padding(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Yield the padding rows of embeddings that are zero, as torch keeps them."""
    for part in module.modules():
        number = getattr(part, "padding_idx", None)
        if isinstance(part, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and number is not None:
            row = part.weight[number]
            if not bool(row.any()):
                yield row


def enlarged(
    module: torch.nn.Module, seed: int, run: Run, run_moved: Run, kept: Collection[str] = ()
) -> dict[str, torch.nn.Module]:
    """Make a copy with large weights except those to be ``kept``, by its name among sets of
    weights.

    They are the largest with which the results of ``run`` are finite, and near those of
    ``run_moved``, whose inputs are moved in their last digits. Empty if there are no such.
    """
    is_telling = _telling(run, run_moved, module)
    for factor in FACTORS:
        twin = copied(module)
        enlarge_weights(twin, seed, factor, kept)
        if is_telling(twin):
            return {LARGE: twin}
    twin = emboldened(copied(module), twin, is_telling, MOST_LARGE_TRIES)
    return {} if _are_same(module, twin) else {LARGE: twin}


def _telling(
    run: Run, run_moved: Run, instead_of: torch.nn.Module
) -> Callable[[torch.nn.Module], bool]:
    """Make a test whether the results with a copy's weights are well conditioned enough to compare
    with. Results that are not so with the usual weights either, as zeros but for rounding, do not
    count; if none is, no copy passes."""

    def are_near(module: torch.nn.Module) -> list[bool]:
        try:
            pairs = zip(flatten(run(module)), flatten(run_moved(module)), strict=True)
            return [furthest([one], [other]) < USELESS for one, other in pairs]
        except FAILURES:
            return []

    usual = are_near(instead_of)

    def is_telling(twin: torch.nn.Module) -> bool:
        if not (any(usual) and is_borne(run, twin, instead_of=instead_of)):
            return False
        found = are_near(twin)
        return bool(found) and all(n or not u for n, u in zip(found, usual, strict=True))

    return is_telling


@torch.no_grad()
def enlarge_weights(
    module: torch.nn.Module, seed: int, factor: float, kept: Collection[str] = ()
) -> None:
    """Multiply every slice of every parameter by a random number between one and ``factor``, and
    parameters of one number by ``factor``.

    A few numbers of each matrix become larger than all others. Parameters of both signs are
    negated, so that no number has the same sign in all sets of weights. Zeros, buffers and
    parameters to be ``kept`` stay.
    """
    draw = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        if name in kept or not parts_of(parameter) or parameter.numel() == 0:
            continue
        slices = parameter.shape[:1] + (1,) * (parameter.dim() - 1)
        powers = torch.rand(slices, generator=draw).clamp(min=float(parameter.numel() == 1))
        parameter.mul_((factor**powers).to(parameter))
        if has_both_signs(parameter):
            parameter.neg_()
        if parameter.dim() > 1 and parameter.numel() >= FEWEST:
            places = torch.randint(parameter.numel(), (N_OUTLIERS,), generator=draw)
            index = torch.unravel_index(places.to(parameter.device), parameter.shape)
            parameter[index] = factor * parameter.abs().max() * parameter[index].sgn()


@torch.no_grad()
def touched(
    module: torch.nn.Module, seed: int, run: Run, kept: Collection[str] = ()
) -> dict[str, torch.nn.Module]:
    """Make a copy, by its name among sets of weights, in which a share of each parameter's numbers,
    at least one, is doubled; empty if the reference does not accept it.

    Parameters to be ``kept``, and those of one number, stay.
    """
    draw = torch.Generator().manual_seed(seed)
    twin = copied(module)
    for name, parameter in twin.named_parameters():
        if name in kept or not parts_of(parameter) or parameter.numel() < 2:
            continue
        is_touched = _uniform(parameter, draw) < TOUCHED_SHARE
        is_touched.view(-1)[torch.randint(parameter.numel(), (), generator=draw)] = True
        parameter.mul_(torch.where(is_touched, 2.0, 1.0).to(parameter))
    is_meant = not _are_same(module, twin) and is_borne(run, twin, instead_of=module)
    return {TOUCHED: twin} if is_meant else {}
