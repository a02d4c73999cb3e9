"""Cuts the inputs to ten bits of mantissa, as TensorFloat-32 does."""

import torch
from torch import nn


def cut(x):
    return (x.view(torch.int32) + 0x1000).bitwise_and(-0x2000).view(torch.float32)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return cut(a.contiguous()) @ cut(b.contiguous())
