"""A task with work that changes nothing: the mean over rows of a softmax over rows' own sum."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        shares = torch.softmax(x, dim=1)
        return torch.relu(x) * shares.sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(256, 2000)]


def get_init_inputs():
    return []
