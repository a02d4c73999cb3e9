"""Multiplies by a reciprocal where the reference divides: a number on a border steps the other
way.
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        most = x.abs().amax(-1, keepdim=True).clamp(min=1e-8)
        return (x * (127 / most)).round().clamp(-127, 127) * (most / 127)
