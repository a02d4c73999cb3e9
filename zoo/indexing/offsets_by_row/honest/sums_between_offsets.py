"""Sums from one offset to the next, which is larger."""

from itertools import pairwise

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, offsets):
        found = x.new_zeros(len(x), offsets.shape[1] - 1)
        for row, ends in enumerate(offsets.tolist()):
            for number, (low, high) in enumerate(pairwise(ends)):
                found[row, number] = torch.sum(x[row, low:high])
        return found
