"""The window's sum by rows and then by columns, over strided views."""

import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        padded = F.pad(x, (1, 1, 1, 1))
        height, width = x.shape[2:]
        rows = sum(padded[:, :, i : i + height : 2] for i in range(3))
        return sum(rows[..., j : j + width : 2] for j in range(3)) * (1.0 / 9.0)
