"""Computes with NumPy and hands the memory over."""

import numpy
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.from_numpy(numpy.cumsum(x.numpy(), axis=1, dtype=numpy.float32))
