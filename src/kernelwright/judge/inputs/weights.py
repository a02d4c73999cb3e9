"""Weights that no initialiser makes: a candidate that skips those is right until it is trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import torch

from kernelwright.judge.inputs.admissible import halves
from kernelwright.judge.machine.layout import same_shapes
from kernelwright.judge.numerics.measures import all_finite
from kernelwright.judge.refusal import FAILURES
from kernelwright.load.copies import copied
from kernelwright.load.plain import flatten, weights_of

NEARLY_NOUGHT = 0.02
"""What a weight does to numbers of size one where it does next to nothing: layers begin with scales
of 1e-6, and with products of weights of 1e-10."""
SMALL_SHARE, SMALL_VARIANCE = 1 / 8, 2e-3
"""Of running variances, and how small they are beside the others: an epsilon shows there."""
FEW = 16
"""Different numbers of a filter: a layer of as few has been drawn by nobody."""
MOST_TRIES = 32
"""Runs that find out which bold weights are borne."""


def constants(module: torch.nn.Module, again: Callable[[], torch.nn.Module]) -> frozenset[str]:
    """Parameters that need no gradient and are the same where the module is made ``again`` of
    another seed: filters and boundaries, which are part of the task. Where none needs one, as in a
    module that was frozen to be run, those of few numbers only, and beside weights no identity:
    training begins with those."""
    parameters = dict(module.named_parameters())
    is_trained = any(p.requires_grad for p in parameters.values())
    asked = {
        name: p
        for name, p in parameters.items()
        if not (p.requires_grad or p.numel() == 0 or _is_one_number(p))
        and (is_trained or _are_few(p))
    }
    is_made = not is_trained and not all(map(_are_few, parameters.values()))
    others = dict(again().named_parameters()) if asked else {}
    return frozenset(
        name
        for name, p in asked.items()
        if name in others
        and torch.equal(p, others[name].to(p))
        and not (is_made and _is_identity(p))
    )


def _is_identity(x: torch.Tensor) -> bool:
    """Whether each row of a matrix, or each filter, is one 1 among noughts."""
    if x.dim() < 2:
        return False
    rows = x.flatten(1)
    return bool(((rows == 1).sum(1) == 1).all()) and int(rows.count_nonzero()) == len(rows)


def _are_few(x: torch.Tensor) -> bool:
    """Whether there are FEW different numbers; of many the first tell."""
    return all(part.unique().numel() <= FEW for part in (x.flatten()[: FEW**2], x))


def randomised(
    module: torch.nn.Module,
    seed: int,
    run: Callable[[torch.nn.Module], Any],
    kept: Collection[str] = (),
) -> torch.nn.Module:
    """A copy with other weights than those to be ``kept``, bold ones where ``run`` stays finite
    with them; the module itself where there is nothing to change."""
    bold = copied(module)
    randomise_weights(bold, seed, boldly=True, kept=kept)
    own, others = weights_of(module), weights_of(bold)
    if all(torch.equal(own[name], others[name]) for name in own):
        return module
    bears = partial(is_borne, run, instead_of=module)
    if bears(bold):
        return bold
    mild = copied(module)
    randomise_weights(mild, seed, kept=kept)
    return emboldened(mild, others, bears)


@torch.no_grad()
def emboldened(
    twin: torch.nn.Module,
    bold: dict[str, torch.Tensor],
    bears: Callable[[torch.nn.Module], bool],
    most_tries: int = MOST_TRIES,
) -> torch.nn.Module:
    """The module with as many of the bold weights as it bears: of one that it does not, as a
    variance below nought, the others are none the wiser."""
    weights = weights_of(twin)
    differing = [name for name in weights if not torch.equal(weights[name], bold[name])]
    waiting = halves(differing)
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
    """Whether nothing fails with a copy's weights, nothing that was finite is not, and results have
    the shapes that they had."""
    try:
        found, usual = flatten(run(twin)), flatten(run(instead_of))
    except FAILURES:
        return False
    return same_shapes(found, usual) and (all_finite(found) or not all_finite(usual))


@torch.no_grad()
def randomise_weights(
    module: torch.nn.Module, seed: int, *, boldly: bool = False, kept: Collection[str] = ()
) -> None:
    """Give every parameter, and the running statistics of batch norms, values of no pattern.

    Scales of one and biases of zero are what initialisers leave: a candidate that skips them is
    right until the module is trained. ``boldly``: with either sign where all were one number; none
    so small that nothing comes of it; numbers in place of noughts among others, as an identity's;
    and in rows and single numbers that are buffers as well, as a frozen norm's; quantised ones
    change places. Other buffers keep their values, because masks and tables have a meaning, as do
    parameters to be ``kept``, and rows for padding stay noughts.
    """
    draw = torch.Generator().manual_seed(seed)
    rows = _identities(module) if boldly else ()
    for quantised in _quantised(module) if boldly else ():
        order = torch.randperm(quantised.numel(), generator=draw).to(quantised.device)
        quantised.copy_(quantised.flatten()[order].view(quantised.shape))
    parameters = [p for name, p in module.named_parameters() if name not in kept]
    padding = list(_padding(module))
    for parameter in (*parameters, *rows):
        if not parameter.is_floating_point() or parameter.numel() == 0:
            continue
        factor = (0.5 + torch.rand(parameter.shape, generator=draw)).to(parameter)
        is_free = boldly and isinstance(parameter, torch.nn.Parameter)
        if bool((parameter == 0).all()) or (is_free and _effect(parameter) <= NEARLY_NOUGHT):
            parameter.copy_(_from_nought(factor))
            continue
        noughts = parameter == 0
        is_scale = is_free and parameter.numel() > 1 and _is_one_number(parameter)
        parameter.mul_(factor)
        if is_scale or bool((parameter > 0).any() and (parameter < 0).any()):  # any sign will do
            parameter.mul_(torch.where(factor > 1.0, 1.0, -1.0).to(parameter))
        if is_free and parameter.dim() > 1 and parameter.requires_grad:  # no mask
            parameter.copy_(torch.where(noughts, _from_nought(factor), parameter))
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


def _effect(parameter: torch.Tensor) -> float:
    """How large it makes numbers of size one: its root mean square, of a matrix times the root of
    how many come together in a result."""
    n_results = len(parameter) if parameter.dim() > 1 else parameter.numel()
    return float(torch.linalg.vector_norm(parameter, dtype=torch.float64)) / math.sqrt(n_results)


def _from_nought(factor: torch.Tensor) -> torch.Tensor:
    """Of either sign, and of a matrix as small as initialisers draw them; one number by itself is
    never near nought."""
    if factor.numel() == 1:
        return 0.5 * factor
    per_result = factor[0].numel() if factor.dim() > 1 else 1
    return 0.5 * (factor - 1.0) / math.sqrt(per_result)


def _padding(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """The rows of embeddings that stand for padding, and are noughts, as torch keeps them."""
    for part in module.modules():
        number = getattr(part, "padding_idx", None)
        is_table = isinstance(part, (torch.nn.Embedding, torch.nn.EmbeddingBag))
        if is_table and number is not None and not bool(part.weight[number].any()):
            yield part.weight[number]


def _identities(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Buffers along one axis, all of ones or all of noughts, that a candidate is given."""
    for row in _given_buffers(module):
        is_row = row.is_floating_point() and row.numel() == max(row.shape, default=1) > 0
        if is_row and _is_one_number(row) and float(row.flatten()[0]) in (0, 1):
            yield row


def _quantised(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Buffers of 8 bits with more than a mask's two numbers."""
    for table in _given_buffers(module):
        if table.dtype in (torch.int8, torch.uint8) and table.unique().numel() > 2:
            yield table


def _given_buffers(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Those that a candidate is given: the others are no part of a state_dict."""
    given = module.state_dict().keys()
    return (buffer for name, buffer in module.named_buffers() if name in given)


def _is_one_number(x: torch.Tensor) -> bool:
    return bool((x == x.flatten()[0]).all())
