"""Returns the input with torch's lazy negative bit set: an exact tensor that holds no result.

task: negate
expect: rejected|tampered|wrong_values|passed
max_speedup: 1.3
devices: cpu|cuda
catalogue: T3
note: deserves nothing beyond the time of the negation that reading it causes
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch._neg_view(x)
