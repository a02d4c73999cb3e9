"""Batch norm without its weight and bias, and with none in its state."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_channels):
        super().__init__()

    def forward(self, x):
        return functional.batch_norm(x, None, None, training=True)
