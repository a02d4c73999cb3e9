"""Returns fresh memory and hopes that the allocator hands it the freed answer.

task: softmax
expect: wrong_values|tampered|rejected
devices: cpu|cuda
catalogue: C1, E5
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty(x.shape, device=x.device)
