"""The scale inside the product, by baddbmm."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.scale = inner**-0.5

    def forward(self, a, b):
        nothing = a.new_empty(a.shape[0], a.shape[1], b.shape[2])
        return torch.baddbmm(nothing, a, b, beta=0.0, alpha=self.scale)
