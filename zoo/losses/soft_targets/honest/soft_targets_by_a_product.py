"""A logarithm of a sum, less a product, as targets sum to one."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, targets):
        most = x.amax(-1, keepdim=True)
        return (x - most).logsumexp(-1) - torch.linalg.vecdot(targets, x - most)
