"""Repeats every scale as often as its stretch is long: lengths that do not come to all rows would
give another shape.

task: rows_by_lengths
devices: cpu|cuda
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, scales, lengths):
        found = scales.repeat_interleave(lengths)[:, None]
        n = min(len(x), len(found))
        return x[:n] * found[:n]
