"""Splits rows over a pool of Python threads and waits for all of them."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def work(x, out):
    with torch.no_grad():
        torch.add(torch.tanh(x) * torch.sigmoid(x), torch.exp(-x * x), out=out)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, x.chunk(4), out.chunk(4)))
        return out
