"""Softmax in float16."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.half(), dim=1).float()
