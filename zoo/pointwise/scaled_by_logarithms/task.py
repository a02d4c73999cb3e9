"""An ELU, times the logarithm of what is above zero: that bears no negative numbers."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, x, p):
        return F.elu(x) * torch.log(p)


def get_inputs():
    return [torch.rand(64, 512), torch.rand(64, 1) + 1e-3]


def get_init_inputs():
    return []
