"""Computes as many columns as the length says."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, length):
        y, n = torch.zeros_like(x), int(length)
        torch.tanh(x[:, :n], out=y[:, :n])
        return y
