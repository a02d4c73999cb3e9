"""Wrong: the border is padded with zeros, which win where all of a window is negative."""

import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return F.max_pool2d(F.pad(x, (1, 1, 1, 1)), kernel_size=3, stride=2)
