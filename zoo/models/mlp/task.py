"""Three linear layers with ReLU between them."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.first = nn.Linear(n_in, n_hidden)
        self.second = nn.Linear(n_hidden, n_hidden)
        self.third = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        return self.third(torch.relu(self.second(torch.relu(self.first(x)))))


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return [128, 256, 64]
