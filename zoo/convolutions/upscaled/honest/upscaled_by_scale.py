"""Reads the scale that it is given: another one would make another shape."""

from torch import nn
from torch.nn.functional import interpolate


class ModelNew(nn.Module):
    def forward(self, x, scale):
        return interpolate(x, scale_factor=(scale, scale), mode="bilinear", align_corners=False)
