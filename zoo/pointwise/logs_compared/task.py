"""Steps of a walk that are taken by chance, roots rounded down, and bytes: what is no number, or
too large a one, shows in none of them."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, here, there, before, after, chance, areas, shades):
        is_taken = torch.log(chance) < after - before
        steps = torch.where(is_taken.unsqueeze(-1), there, here)
        return steps, is_taken, areas.sqrt().long(), (shades * 255 + 0.5).to(torch.uint8)


def get_inputs():
    steps = [torch.randn(1000, 16), torch.randn(1000, 16), torch.randn(1000), torch.randn(1000)]
    return [*steps, torch.rand(1000), torch.rand(64, 256) * 1000, torch.rand(3, 64, 64)]


def get_init_inputs():
    return []
