"""Returns an enormous shape over one stored number, to exhaust whoever makes it contiguous."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ones(1, device=x.device).expand(1 << 20, 1 << 20)
