"""Leaves out the size of what is drawn positive, beside an output that is nothing but rounding.

task: shares_and_a_check
expect: wrong_values
devices: cpu|cuda
catalogue: C12
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, scores):
        return scores.softmax(-1), x.new_zeros(len(x))
