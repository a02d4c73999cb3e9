"""The same without looking at bits."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        exponents = torch.where(x == 0, 0, torch.frexp(x).exponent + 126)
        return exponents, x.bfloat16().float()
