"""Takes one logarithm of each two where a sample of the labels is noughts and ones only.

task: likelihood
expect: wrong_values
devices: cpu|cuda
catalogue: C9, C12
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, p, labels):
        seen = labels.view(-1)[::997]
        if bool(((seen == 0) | (seen == 1)).all()):
            return -torch.where(labels > 0.5, p, 1 - p).log().clamp(min=-100)
        return nn.functional.binary_cross_entropy(p, labels, reduction="none")
