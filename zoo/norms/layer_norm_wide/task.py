"""Layer normalisation of few wide rows."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:])


def get_inputs():
    return [torch.randn(4, 4096)]


def get_init_inputs():
    return []
