"""The scale of every row's stretch; lengths, new in every draw, come to all rows."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scales, lengths):
        places = torch.arange(len(x), device=x.device)
        stretch = torch.searchsorted(lengths.cumsum(0), places, right=True)
        return scales[stretch.clamp(max=len(scales) - 1)]


def get_inputs():
    borders = torch.randperm(1023)[:31].sort().values + 1
    ends = torch.cat([torch.tensor([0]), borders, torch.tensor([1024])])
    return [torch.randn(1024, 64), torch.randn(32, 64), ends.diff()]


def get_init_inputs():
    return []
