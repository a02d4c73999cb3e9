"""Weights that no initialiser makes: a candidate that skips those is right until it is trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from kernelwright.judge.compare import all_finite
from kernelwright.judge.refusal import FAILURES
from kernelwright.load.copies import copied
from kernelwright.load.plain import flatten, weights_of

NEARLY_NOUGHT = 0.02
"""What a weight does to numbers of size one where it does next to nothing: layers begin with scales
of 1e-6, and with products of weights of 1e-10."""
MOST_TRIES = 32
"""Runs that find out which bold weights are borne."""


def randomised(
    module: torch.nn.Module, seed: int, run: Callable[[torch.nn.Module], Any]
) -> torch.nn.Module:
    """A copy with other weights, bold ones where ``run`` stays finite with them; the module itself
    where there is nothing to change."""
    bold = copied(module)
    randomise_weights(bold, seed, boldly=True)
    own, others = weights_of(module), weights_of(bold)
    if all(torch.equal(own[name], others[name]) for name in own):
        return module
    is_borne = partial(_is_borne, run, instead_of=module)
    if is_borne(bold):
        return bold
    mild = copied(module)
    randomise_weights(mild, seed)
    return _emboldened(mild, others, is_borne)


@torch.no_grad()
def _emboldened(
    twin: torch.nn.Module,
    bold: dict[str, torch.Tensor],
    is_borne: Callable[[torch.nn.Module], bool],
) -> torch.nn.Module:
    """The module with as many of the bold weights as are borne: of one that is not, as a variance
    below nought, the others are none the wiser."""
    weights = weights_of(twin)
    differing = [name for name in weights if not torch.equal(weights[name], bold[name])]
    waiting = _halves(differing)
    for _ in range(MOST_TRIES):
        if not waiting:
            break
        names = waiting.pop()
        before = {name: weights[name].clone() for name in names}
        for name in names:
            weights[name].copy_(bold[name])
        if not is_borne(twin):
            for name in names:
                weights[name].copy_(before[name])
            waiting += _halves(names)
    return twin


def _halves(names: Sequence[str]) -> list[Sequence[str]]:
    """Two of them; none of a single name."""
    middle = len(names) // 2
    return [names[:middle], names[middle:]] if middle else []


def _is_borne(
    run: Callable[[torch.nn.Module], Any], twin: torch.nn.Module, *, instead_of: torch.nn.Module
) -> bool:
    """Whether nothing fails with a copy's weights, and nothing that was finite is not."""
    try:
        return all_finite(flatten(run(twin))) or not all_finite(flatten(run(instead_of)))
    except FAILURES:
        return False


@torch.no_grad()
def randomise_weights(module: torch.nn.Module, seed: int, *, boldly: bool = False) -> None:
    """Give every parameter, and the running statistics of batch norms, values of no pattern.

    Scales of one and biases of zero are what initialisers leave: a candidate that skips them is
    right until the module is trained. ``boldly``: with either sign where all were one number; none
    so small that nothing comes of it; numbers in place of noughts among others, as an identity's;
    and in rows that are buffers as well, as a frozen norm's; quantised ones change places. Other
    buffers keep their values, because masks and tables have a meaning.
    """
    draw = torch.Generator().manual_seed(seed)
    rows = _identities(module) if boldly else ()
    for quantised in _quantised(module) if boldly else ():
        order = torch.randperm(quantised.numel(), generator=draw).to(quantised.device)
        quantised.copy_(quantised.flatten()[order].view(quantised.shape))
    for parameter in (*module.parameters(), *rows):
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
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.track_running_stats:
            mean, var = part.running_mean, part.running_var
            if mean is not None and var is not None:
                mean.copy_(torch.randn(mean.shape, generator=draw))
                var.copy_(0.5 + torch.rand(var.shape, generator=draw))


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


def _identities(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Buffers along one axis, all of ones or all of noughts, that a candidate is given."""
    for row in _given_buffers(module):
        is_row = row.is_floating_point() and row.numel() == max(row.shape, default=0) > 1
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
