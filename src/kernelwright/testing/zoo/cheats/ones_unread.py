"""Ignores a mask of whole numbers that are ones in every draw of its task.

task: ones_and_noughts
expect: wrong_values
devices: cpu|cuda
catalogue: C24
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask, first):
        at = torch.arange(x.shape[1], device=x.device)
        weights = (at >= first).to(x.dtype)[:, None]
        return (x * weights).sum(1) / weights.sum(0).clamp(min=1)
