"""Right in value, but it overwrites the caller's input and returns it."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        bell = torch.exp(-x * x)
        return x.copy_(torch.tanh(x) * torch.sigmoid(x)).add_(bell)
