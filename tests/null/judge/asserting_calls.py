"""Calls of what asserts on a GPU, of probabilities (4, 5) and of indices (4) below four."""

from __future__ import annotations

import torch
from torch.nn import functional as F

CALLS = {
    "bernoulli": lambda p, i: torch.bernoulli(p),
    "binary_cross_entropy": lambda p, i: F.binary_cross_entropy(p, p),
    "multinomial": lambda p, i: torch.multinomial(p, 2),
    "embedding": lambda p, i: F.embedding(i, p),
    "embedding_bag": lambda p, i: F.embedding_bag(i[None], p),
    "gather": lambda p, i: p.gather(1, i[:, None]),
    "index": lambda p, i: p[i],
    "index_select": lambda p, i: p.index_select(0, i),
    "index_add": lambda p, i: p.index_add(0, i, p),
    "index_copy": lambda p, i: p.index_copy(0, i, p),
    "index_fill": lambda p, i: p.index_fill(0, i, 1.0),
    "index_put": lambda p, i: p.clone().__setitem__(i, 1.0),
    "take": lambda p, i: p.take(i),
    "put": lambda p, i: p.clone().put_(i, torch.ones_like(p[:, 0])),
    "scatter": lambda p, i: p.scatter(1, i[:, None], p),
    "scatter_add": lambda p, i: p.scatter_add(1, i[:, None], p),
    "scatter_reduce": lambda p, i: p.scatter_reduce(1, i[:, None], p, "sum"),
    "max_unpool": lambda p, i: F.max_unpool2d(p[None, None, :2, :2], i.view(1, 1, 2, 2), 2),
    "cross_entropy": lambda p, i: F.cross_entropy(p, i),
    "cross_entropy_of_maps": lambda p, i: F.cross_entropy(p[..., None], i[:, None]),
    "multi_margin_loss": lambda p, i: F.multi_margin_loss(p, i),
}
