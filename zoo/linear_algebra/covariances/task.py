"""Covariances of splats, symmetric matrices of three a side, turned into conics of an image."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, covariances, views):
        c = views @ covariances @ views.mT
        a, b, d = c[:, 0, 0] + 0.3, c[:, 0, 1], c[:, 1, 1] + 0.3
        return torch.stack([d, -b, a], 1) / (a * d - b * b)[:, None]


def get_inputs():
    roots = torch.randn(300, 3, 3)
    return [roots @ roots.mT, torch.randn(300, 2, 3)]


def get_init_inputs():
    return []
