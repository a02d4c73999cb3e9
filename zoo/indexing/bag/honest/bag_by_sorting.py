"""Sums bins as differences of nothing: sorts, then adds segments one after another."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_bins):
        super().__init__()
        self.n_bins = n_bins

    def forward(self, weights, bins):
        order = bins.argsort(stable=True)
        lengths = torch.bincount(bins, minlength=self.n_bins)
        return torch.segment_reduce(weights[order], "sum", lengths=lengths, unsafe=True)
