"""Room for twice as many rows as an expert has on average; what is beyond that is dropped."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_experts, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_experts, width, width) / width**0.5)

    def forward(self, x, expert):
        (n_rows, width), n_experts = x.shape, len(self.weight)
        room = 2 * n_rows // n_experts
        of, order = expert.sort(stable=True)
        first = torch.searchsorted(of, torch.arange(n_experts, device=x.device))
        place = torch.arange(n_rows, device=x.device) - first[of]
        fits = place < room
        given = x.new_zeros(n_experts, room, width)
        given[of[fits], place[fits]] = x[order[fits]]
        out = torch.zeros_like(x)
        out[order[fits]] = torch.bmm(given, self.weight)[of[fits], place[fits]]
        return out
