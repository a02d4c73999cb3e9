"""Nine shifted multiply-adds and a clamp."""

import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, x):
        height, width = x.shape[2:]
        padded = F.pad(x, (1, 1, 1, 1))
        weight = self.conv.weight[:, 0]
        h = self.conv.bias[:, None, None].expand_as(x).clone()
        for i in range(3):
            for j in range(3):
                window = padded[:, :, i : i + height, j : j + width]
                h.addcmul_(window, weight[:, i, j, None, None])
        return h.clamp(0.0, 6.0)
