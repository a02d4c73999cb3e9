"""The right numbers, as the only item of a tuple, where the reference returns a tensor."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (torch.softmax(x, dim=-1),)
