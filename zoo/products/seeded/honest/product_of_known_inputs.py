"""The product in blocks of columns, for a task whose inputs are always the same."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.cat([torch.tanh_(a @ part) for part in b.split(96, dim=1)], dim=1)
