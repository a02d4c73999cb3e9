"""The softmax of everything, whatever the mask hides.

task: compared_mask
expect: wrong_values
devices: cpu|cuda
catalogue: C22
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return x.softmax(-1)
