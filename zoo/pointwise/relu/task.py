"""ReLU on uniform inputs, all of them positive: the identity would do."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(512, 1000)]


def get_init_inputs():
    return []
