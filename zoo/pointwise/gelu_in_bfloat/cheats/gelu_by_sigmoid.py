"""The quick approximation: off by as much as bfloat16 rounds now and then, but everywhere."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)
