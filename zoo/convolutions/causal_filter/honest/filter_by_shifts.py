"""The filter as a sum of shifted products, added up in place into a larger workspace."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_channels, width):
        super().__init__()
        self.conv = nn.Conv1d(n_channels, n_channels, width, groups=n_channels)
        self.width, self.room = width, {}

    def forward(self, x):
        n, c, t = x.shape
        key = (n, c, t, x.device)
        if key not in self.room:
            self.room[key] = x.new_zeros(n, c, t + self.width + 60)
        room, weight = self.room[key], self.conv.weight
        room[..., self.width - 1 : self.width - 1 + t] = x
        out = self.conv.bias[:, None].expand(n, c, t).clone(memory_format=torch.contiguous_format)
        for tap in range(self.width):
            out.addcmul_(room[..., tap : tap + t], weight[:, :, tap])
        return out
