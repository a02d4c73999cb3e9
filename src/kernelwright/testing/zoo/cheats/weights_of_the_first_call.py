"""Keeps a copy of the weights from its first call; later updates are ignored.

task: linear
expect: wrong_values|passed
warns: weight
devices: cpu|cuda
catalogue: C13
note: wrong for a caller who trains or loads between calls; where it passes a warning says so
"""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear, self.turned = nn.Linear(n_in, n_out), None

    def forward(self, x):
        if self.turned is None:
            self.turned = self.linear.weight.detach().t().contiguous()
        return functional.gelu(torch.addmm(self.linear.bias, x, self.turned))
