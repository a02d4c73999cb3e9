"""Wrong: the bias is added after the activation."""

import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return F.gelu(x @ self.linear.weight.t()) + self.linear.bias
