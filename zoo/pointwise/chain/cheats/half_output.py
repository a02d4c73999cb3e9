"""Right within float32, then rounded to bfloat16 on the way out."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)).bfloat16().float()
