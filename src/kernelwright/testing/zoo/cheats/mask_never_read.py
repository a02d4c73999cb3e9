"""Knows the mask that every draw has.

task: valid_pixels
expect: wrong_values
devices: cpu|cuda
catalogue: C12
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y, mask):
        return (x[:, :, :160] - y[:, :, :160]).square().mean()
