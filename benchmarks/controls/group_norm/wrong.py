"""Wrong: the unbiased variance."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        grouped = x.reshape(x.shape[0], self.norm.num_groups, -1)
        variance, mean = torch.var_mean(grouped, dim=-1, correction=1, keepdim=True)
        normal = ((grouped - mean) * torch.rsqrt(variance + self.norm.eps)).view_as(x)
        h = normal * self.norm.weight[:, None, None] + self.norm.bias[:, None, None]
        return h * torch.sigmoid(h)
