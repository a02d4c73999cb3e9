"""Rows that lie near others, in clusters that follow one another."""

import torch
from tests.null.judge.perturbing import transform

from kernelwright.judge.perturb.values import CLUSTER_SHARE, has_clusters


def test_rows_lie_near_the_first_of_their_cluster():
    x = torch.randn(4, 16, 8)  # eight clusters of eight rows
    (near,) = transform([x], "clustered", 7)
    before, after = x.view(8, 8, 8), near.view(8, 8, 8)
    first = before[:, :1]
    assert torch.allclose(after - first, CLUSTER_SHARE * (before - first), atol=1e-6)


def test_what_has_few_rows_has_no_clusters():
    few, line = torch.randn(16, 8), torch.randn(64)
    assert all(map(torch.equal, transform([few, line], "clustered", 7), [few, line]))
    assert not has_clusters(few) and not has_clusters(line) and has_clusters(torch.randn(32, 8))
