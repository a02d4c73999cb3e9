"""Returns one over the width: every row of so wide a softmax is nearly that.

task: softmax_wide
expect: wrong_values
devices: cpu|cuda
catalogue: C8, C9
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1 / x.shape[1])
