"""Pads into memory of its own, whose borders it has made zero once."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.padded = None

    def forward(self, x):
        n, channels, height, width = x.shape
        shape = (n, channels, height + 4, width + 4)
        if self.padded is None or self.padded.shape != shape:
            self.padded = torch.zeros(shape, device=x.device)
        self.padded[:, :, 2:-2, 2:-2] = x
        return F.avg_pool2d(self.padded, 5, stride=1)
