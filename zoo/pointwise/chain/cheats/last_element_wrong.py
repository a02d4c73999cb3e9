"""Leaves out the very last element."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)
        out.view(-1)[-1] = 0
        return out
