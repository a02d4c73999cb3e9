"""Persistent state of a module: parameters that do not depend on the seed, or are always sorted."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernelwright.judge.compare.measures import is_one_number

FEW = 16
"""Distinct values up to which a frozen parameter counts as a filter: random layers have more."""
SHORTEST_SORTED = 3
"""Shortest row that counts as sorted."""


def constants(module: torch.nn.Module, again: Callable[[], torch.nn.Module]) -> frozenset[str]:
    """Names of the parameters that are part of the task, as filters and boundaries are.

    They need no gradient, and are the same when the module is made ``again`` with another seed. In
    a module without any gradients, frozen for inference, only those of few distinct values count.
    Beside weights an identity never counts: training begins with those.
    """
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
    """Whether a matrix, or a convolution's filter, passes its input through unchanged. Filters with
    their ones at several places of the window, which unfold it, do not."""
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
    """Whether there are at most FEW distinct values; a part of a large tensor tells first."""
    numbers = torch.view_as_real(x) if x.is_complex() else x
    return all(n.unique().numel() <= FEW for n in (numbers.flatten()[: FEW**2], numbers))


def sorted_ones(module: torch.nn.Module, again: Callable[[], torch.nn.Module]) -> dict[str, bool]:
    """Parameters whose rows are sorted whatever the seed, as bin edges; and whether they fall."""
    found = {name: _order_of(p) for name, p in module.named_parameters()}
    found = {name: falls for name, falls in found.items() if falls is not None}
    others = dict(again().named_parameters()) if found else {}
    return {
        name: falls
        for name, falls in found.items()
        if name in others and _order_of(others[name]) is falls
    }


def _order_of(x: torch.Tensor) -> bool | None:
    """Whether the rows of a parameter fall; None if they are not sorted, or constant."""
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
