"""At most forty steps of conjugate gradients in place of a factorisation."""

import torch
from torch import nn

N_STEPS, END = 40, 1e-13


class ModelNew(nn.Module):
    def forward(self, x, y):
        right = x.mT @ y
        found, rest, way = torch.zeros_like(right), right.clone(), right.clone()
        size = right.square().sum()
        end = float(size) * END
        for _ in range(N_STEPS):
            moved = x.mT @ (x @ way) + way
            step = size / (way * moved).sum().clamp(min=1e-30)
            found, rest = found + step * way, rest - step * moved
            left = rest.square().sum()
            if float(left) < end:
                break
            way, size = rest + left / size.clamp(min=1e-30) * way, left
        return found
