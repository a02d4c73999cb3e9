"""Repeats every scale as often as its stretch is long: lengths that do not come to all rows give
another shape."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, scales, lengths):
        return scales.repeat_interleave(lengths, 0)
