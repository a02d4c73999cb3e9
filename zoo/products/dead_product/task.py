"""A task whose product of matrices changes nothing: it is only asked for shares, whose sum is 1."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        shares = torch.softmax(a @ b, dim=1)
        return torch.relu(a) * shares.sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 8192)]


def get_init_inputs():
    return []
