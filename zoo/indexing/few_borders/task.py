"""Which of a few bins numbers lie in, and how far by a small covariance; borders are sorted."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, borders, covariance):
        bins = (x.unsqueeze(-1) >= borders).sum(-1)
        return bins, torch.einsum("ni,ij,nj->n", x, covariance, x)


def get_inputs():
    return [
        torch.randn(4096, 5),
        torch.randn(4).sort().values,
        torch.cov(torch.randn(5, 40)),
    ]


def get_init_inputs():
    return []
