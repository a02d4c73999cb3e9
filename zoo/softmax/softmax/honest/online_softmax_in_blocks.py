"""Softmax from blocks of columns with a running maximum and a running sum."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        most = x.new_full((len(x), 1), float("-inf"))
        total = x.new_zeros(len(x), 1)
        for block in x.split(192, dim=1):
            now = torch.maximum(most, block.amax(dim=1, keepdim=True))
            total = total * torch.exp(most - now) + torch.exp(block - now).sum(1, keepdim=True)
            most = now
        return torch.exp(x - most) / total
