"""Compares with an exponential, not with a logarithm; roots and bytes begin at zero."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, here, there, before, after, chance, areas, shades):
        is_taken = chance < torch.exp(after - before)
        steps = torch.where(is_taken.unsqueeze(-1), there, here)
        bytes_of = (shades * 255 + 0.5).clamp(0, 255).to(torch.uint8)
        return steps, is_taken, areas.clamp(min=0).sqrt().long(), bytes_of
