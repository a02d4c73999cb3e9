"""Keeps its pool of idle threads between calls; all work is done when it returns."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def work(x, out):
    with torch.no_grad():
        torch.add(torch.tanh(x) * torch.sigmoid(x), torch.exp(-x * x), out=out)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(2)

    def forward(self, x):
        out = torch.empty(x.shape)
        list(self.pool.map(work, x.chunk(4), out.chunk(4)))
        return out
