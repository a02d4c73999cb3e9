"""Sums the product over slices of the inner axis."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = torch.zeros(a.shape[0], b.shape[1], device=a.device)
        for start in range(0, a.shape[1], 100):
            out.addmm_(a[:, start : start + 100], b[start : start + 100])
        return out
