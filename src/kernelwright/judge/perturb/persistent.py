"""What parameters of a module are whatever the seed: filters and boundaries, or sorted."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernelwright.judge.compare.measures import is_one_number

FEW = 16
"""Different numbers of a filter: a layer of as few has been drawn by nobody."""
SHORTEST_SORTED = 3
"""Numbers of a row that is sorted whatever the seed."""


def constants(module: torch.nn.Module, again: Callable[[], torch.nn.Module]) -> frozenset[str]:
    """Parameters that need no gradient and are the same where the module is made ``again`` of
    another seed: filters and boundaries, which are part of the task. Where none needs one, as in a
    module that was frozen to be run, those of few numbers only. Beside weights no identity is one:
    training begins with those."""
    parameters = dict(module.named_parameters())
    is_trained = any(p.requires_grad for p in parameters.values())
    asked = {
        name: p
        for name, p in parameters.items()
        if not (p.requires_grad or p.numel() == 0 or is_one_number(p))
        and (is_trained or _are_few(p))
    }
    has_weights = is_trained or not all(map(_are_few, parameters.values()))
    others = dict(again().named_parameters()) if asked else {}
    return frozenset(
        name
        for name, p in asked.items()
        if name in others
        and torch.equal(p, others[name].to(p))
        and not (has_weights and _is_identity(p))
    )


def _is_identity(x: torch.Tensor) -> bool:
    """Whether a matrix hands on each number, or a filter each channel, as it is: not one whose
    filters have their ones at several places of a window, as those that unfold it."""
    if x.dim() < 2:
        return False
    filters = x.flatten(2) if x.dim() > 2 else x[..., None]
    places = filters.count_nonzero((0, 1)).nonzero()
    if len(places) != 1:
        return False
    n_rows, n_columns = filters.shape[:2]
    one = torch.eye(n_columns, dtype=x.dtype, device=x.device)  # of several groups, one for each
    wanted = one.repeat(-(-n_rows // n_columns), 1)[:n_rows]
    return torch.equal(filters[..., places.item()], wanted)


def _are_few(x: torch.Tensor) -> bool:
    """Whether there are FEW different numbers; of many the first tell."""
    numbers = torch.view_as_real(x) if x.is_complex() else x
    return all(n.unique().numel() <= FEW for n in (numbers.flatten()[: FEW**2], numbers))


def sorted_ones(module: torch.nn.Module, again: Callable[[], torch.nn.Module]) -> dict[str, bool]:
    """Parameters whose rows are all sorted whatever the seed, as the borders of bins, and whether
    they fall; see ``constants``."""
    found = {name: _order_of(p) for name, p in module.named_parameters()}
    found = {name: falls for name, falls in found.items() if falls is not None}
    others = dict(again().named_parameters()) if found else {}
    return {
        name: falls
        for name, falls in found.items()
        if name in others and _order_of(others[name]) is falls
    }


def _order_of(x: torch.Tensor) -> bool | None:
    """Whether the rows of a parameter fall; None where they are not sorted, or each one number."""
    if not x.is_floating_point() or x.dim() == 0 or x.numel() == 0:
        return None
    if x.shape[-1] < SHORTEST_SORTED or bool((x[..., 0] == x[..., -1]).all()):
        return None
    first = x[(0,) * (x.dim() - 1)]  # tells nearly all
    falls = bool(first[0] > first[-1])
    for rows in (first, x):
        low, high = rows[..., :-1], rows[..., 1:]
        if not bool((low >= high if falls else low <= high).all()):
            return None
    return falls
