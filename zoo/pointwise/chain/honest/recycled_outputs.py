"""Takes an output's memory back into use once nobody has a tensor or a view of it."""

import torch
from torch import nn

KEPT = 8
OWN_USES = 2
"""Of a memory that nobody else has: the pool's tensor's, and that of the one who counts."""


def n_uses(tensor):
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = []

    def buffer(self, x):
        for out in self.pool:
            if n_uses(out) == OWN_USES and out.shape == x.shape:
                return out
        out = torch.empty(x.shape, device=x.device)
        self.pool = [*self.pool[-KEPT:], out]
        return out

    def forward(self, x):
        out = self.buffer(x)
        torch.mul(torch.tanh(x), torch.sigmoid(x), out=out)
        return out.add_(torch.exp(-x * x))
