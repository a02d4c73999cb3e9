"""Wrong: the running statistics in place of the batch's, as in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        norm = self.norm
        mean, variance = norm.running_mean, norm.running_var
        h = F.batch_norm(x, mean, variance, norm.weight, norm.bias, training=False, eps=norm.eps)
        return torch.relu(h)
