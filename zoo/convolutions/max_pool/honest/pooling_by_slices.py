"""Max pooling as the maximum of shifted slices."""

from functools import reduce

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, stride):
        super().__init__()
        self.width, self.stride = width, stride

    def forward(self, x):
        rows = range(self.width)
        ends = [n - self.width + 1 for n in x.shape[-2:]]
        slices = [
            x[..., i : i + ends[0] : self.stride, j : j + ends[1] : self.stride]
            for i in rows
            for j in rows
        ]
        return reduce(torch.maximum, slices)
