"""Inputs that are slices keep their strides under every distribution."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y, z):
        if x.stride() != (1, 600) or y.stride() != (0, 1) or z.stride() != (512, 1):
            raise ValueError("not the strides of the task")
        return torch.addcmul(y * z, x, z), x.mT.clone(memory_format=torch.contiguous_format)
