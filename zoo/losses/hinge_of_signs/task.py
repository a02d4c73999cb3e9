"""A hinge loss whose labels are signs as floating-point numbers."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, x, sign):
        return F.hinge_embedding_loss(x, sign)


def get_inputs():
    return [torch.randn(512, 256), torch.randint(0, 2, (512, 256)) * 2.0 - 1]


def get_init_inputs():
    return []
