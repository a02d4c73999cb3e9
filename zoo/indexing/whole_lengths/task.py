"""Sums of the beginnings of rows, by lengths that are the whole rows in every draw."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, lengths):
        inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        return torch.where(inside[..., None], x, 0.0).sum(1)


def get_inputs():
    return [torch.randn(16, 128, 128), torch.full((16,), 128)]


def get_init_inputs():
    return []
