"""Leaves out the maximum where a look at every score shows that it is safe."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        low, high = torch.aminmax(x)
        if bool(torch.isfinite(low) & torch.isfinite(high) & (high < 40) & (low > -40)):
            e = torch.exp(x)
            return e.div_(e.sum(dim=1, keepdim=True))
        return torch.softmax(x, dim=1)
