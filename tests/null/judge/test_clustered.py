"""Rows that lie near others, in clusters that follow one another."""

import torch

from kernelwright.judge.perturb.distributions import (
    CLUSTER_SHARE,
    CLUSTERED,
    can_cluster,
    transform,
)


def test_rows_lie_near_the_first_of_their_cluster():
    x = torch.randn(4, 16, 8)  # eight clusters of eight rows
    (near,) = transform([x], CLUSTERED, 7)
    before, after = x.view(8, 8, 8), near.view(8, 8, 8)
    first = before[:, :1]
    assert torch.allclose(after - first, CLUSTER_SHARE * (before - first), atol=1e-6)


def test_what_has_few_rows_has_no_clusters():
    few, line = torch.randn(16, 8), torch.randn(64)
    assert all(map(torch.equal, transform([few, line], CLUSTERED, 7), [few, line]))
    assert not can_cluster([few, line]) and can_cluster([few, torch.randn(32, 8)])
