"""Flips the sign bit as an integer."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.view(torch.int32).bitwise_xor(-0x80000000).view(torch.float32)
