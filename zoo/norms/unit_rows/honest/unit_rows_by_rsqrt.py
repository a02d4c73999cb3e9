"""The guard within the root."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * torch.einsum("ij,ij->i", x, x).clamp(min=1e-24).rsqrt()[:, None]
