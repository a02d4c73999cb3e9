"""addmm with the bias inside, GELU by its definition."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        h = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        return 0.5 * h * torch.special.erfc(h * -(0.5**0.5))
