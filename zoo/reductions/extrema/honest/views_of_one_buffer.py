"""Both outputs are views of one buffer of its own."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(2, len(x), device=x.device)
        torch.amin(x, dim=1, out=out[0])
        torch.amax(x, dim=1, out=out[1])
        return out[0], out[1]
