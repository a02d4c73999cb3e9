"""Softmax by hand: the maximum, the exponentials, their sum."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        exponentials = torch.exp(x - x.amax(dim=-1, keepdim=True))
        return exponentials / exponentials.sum(dim=-1, keepdim=True)
