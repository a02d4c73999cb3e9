"""Integers that occur only once: within each row, as the experts of a token, or as tuples, as the
edges of a graph."""

from __future__ import annotations

import torch

from kernelwright.judge.perturb.patterns import across, in_order, lines_of

CHANCE = 4.0
"""Number of equal pairs expected of independent draws above which having none is hardly chance."""


def is_once(x: torch.Tensor) -> bool:
    """Whether no number occurs twice, in the tensor or in any row, and that is hardly chance: by
    the width of their range, or because they rise, or are a whole range."""
    n_possible = int(x.max()) - int(x.min()) + 1
    for rows in (x.reshape(1, -1), x.flatten(0, -2)) if x.dim() > 1 else (x.reshape(1, -1),):
        width = rows.shape[-1]
        if width < 2 or bool((rows.sort(-1).values.diff() == 0).any()):
            continue
        n_pairs = x.numel() * (width - 1) / 2
        if n_pairs / n_possible > CHANCE or n_possible == width or in_order(rows):
            return True
    return False


def has_distinct_rows(x: torch.Tensor) -> bool:
    """Whether no row holds a number twice, and that is hardly chance."""
    width = x.shape[-1] if x.dim() > 1 else 0
    if width < 2 or x.numel() == 0:
        return False
    rows = x.sort(-1).values
    n_pairs = x.numel() * (width - 1) / 2
    return not bool((rows.diff() == 0).any()) and n_pairs * _luck(x) > CHANCE


def has_distinct_tuples(x: torch.Tensor) -> bool:
    """Whether no tuple occurs twice (see ``lines_of``), and that is hardly chance."""
    tuples = lines_of(x)
    if tuples is None:
        return False
    luck = len(tuples) * (len(tuples) - 1) / 2
    for line in tuples.unbind(-1):
        luck *= _luck(line)
    return luck > CHANCE and len(tuples.unique(dim=0)) == len(tuples)


def with_distinct_tuples(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed`` where its tuples are new and occur once; elsewhere the tuples of ``x``."""
    own, others = lines_of(x), lines_of(changed)
    assert own is not None and others is not None
    n = len(own)
    _, names = torch.cat([own, others]).unique(dim=0, return_inverse=True)
    places = torch.arange(n, device=x.device)
    first = torch.full((2 * n,), n, device=x.device).scatter_reduce(0, names[n:], places, "amin")
    is_new = (first[names[n:]] == places) & ~torch.isin(names[n:], names[:n])
    return across(x, torch.where(is_new[:, None], others, own))


def _luck(x: torch.Tensor) -> float:
    """Probability that two of its numbers, drawn independently, are equal."""
    shares = x.unique(return_counts=True)[1].double() / x.numel()
    return float(shares.square().sum())
