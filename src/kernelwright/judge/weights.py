"""Weights that no initialiser makes: a candidate that skips those is right until it is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from kernelwright.judge.compare import all_finite
from kernelwright.judge.refusal import FAILURES
from kernelwright.load.copies import copied
from kernelwright.load.plain import flatten, weights_of

NEARLY_NOUGHT = 0.02
"""A scale of this size at most leaves of what it scales less than rounding does, or not much more:
layers begin with one of 1e-6."""


def randomised(
    module: torch.nn.Module, seed: int, run: Callable[[torch.nn.Module], Any]
) -> torch.nn.Module:
    """A copy with other weights, bold ones where ``run`` stays finite with them; the module itself
    where there is nothing to change."""
    for is_bold in (True, False):
        twin = copied(module)
        randomise_weights(twin, seed, boldly=is_bold)
        before, after = weights_of(module).values(), weights_of(twin).values()
        if all(map(torch.equal, before, after)):
            return module
        if is_bold and _is_borne(run, twin, instead_of=module):
            break
    return twin


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
    right until the module is trained. ``boldly``: with either sign where all were one number, which
    is not small any more, and in rows that are buffers as well, as a frozen norm's; quantised ones
    change places. Other buffers keep their values, because masks and tables have a meaning.
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
        is_scale = boldly and isinstance(parameter, torch.nn.Parameter)
        is_scale &= parameter.numel() > 1 and _is_one_number(parameter)
        if bool((parameter.abs() <= (NEARLY_NOUGHT if is_scale else 0.0)).all()):
            parameter.copy_(0.5 * (factor - 1.0))
            continue
        parameter.mul_(factor)
        if is_scale or bool((parameter > 0).any() and (parameter < 0).any()):  # any sign will do
            parameter.mul_(torch.where(factor > 1.0, 1.0, -1.0).to(parameter))
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.track_running_stats:
            mean, var = part.running_mean, part.running_var
            if mean is not None and var is not None:
                mean.copy_(torch.randn(mean.shape, generator=draw))
                var.copy_(0.5 + torch.rand(var.shape, generator=draw))


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
