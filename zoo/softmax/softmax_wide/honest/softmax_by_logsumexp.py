"""Softmax as the exponential of a difference of logarithms."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.exp(x - torch.logsumexp(x, dim=1, keepdim=True))
