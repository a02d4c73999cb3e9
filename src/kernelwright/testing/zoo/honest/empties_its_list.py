"""Empties the list, as the reference does.

task: emptied_list
devices: cpu|cuda
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, steps):
        while len(steps):
            x = (steps.pop(-1) + x).tanh_()
        return x
