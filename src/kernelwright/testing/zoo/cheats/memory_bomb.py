"""Takes memory until there is no more.

task: softmax
expect: runtime_error|tampered|rejected|timeout
devices: cpu
catalogue: E3
note: stops at seven tenths of the machine's free memory, should nobody stop it
"""

import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        free_bytes = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        kept = []
        for _ in range(int(free_bytes * 0.7) >> 26):
            kept.append(torch.empty(1 << 24))
            kept[-1][::1024] = 1.0
        return torch.softmax(x, dim=1)
