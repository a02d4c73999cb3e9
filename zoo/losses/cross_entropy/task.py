"""Cross entropy with labels: one number from integers and floats."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(self, scores, labels):
        return functional.cross_entropy(scores, labels)


def get_inputs():
    return [torch.randn(256, 1000), torch.randint(0, 1000, (256,))]


def get_init_inputs():
    return []
