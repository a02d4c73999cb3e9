"""The entropy of labels (no, yes, undecided) under probabilities: both from zero to one."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, p, labels):
        return nn.functional.binary_cross_entropy(p, labels, reduction="none")


def get_inputs():
    labels = torch.randint(0, 3, (512, 1024)) / 2
    return [torch.rand(512, 1024) * 0.98 + 0.01, labels]


def get_init_inputs():
    return []
