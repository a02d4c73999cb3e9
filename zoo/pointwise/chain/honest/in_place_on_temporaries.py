"""Works in place, on buffers of its own."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        bell = torch.square(x).neg_().exp_()
        return torch.tanh(x).mul_(torch.sigmoid(x)).add_(bell)
