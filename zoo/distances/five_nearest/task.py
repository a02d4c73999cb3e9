"""The five nearest of other points."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, others):
        return torch.cdist(x, others).topk(5, dim=1, largest=False)


def get_inputs():
    return [torch.randn(1024, 16), torch.randn(600, 16)]


def get_init_inputs():
    return []
