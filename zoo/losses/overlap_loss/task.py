"""One less twice what two masks share over what they are together, as segmentation is taught."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, target):
        share = torch.sigmoid(x).flatten(1)
        target = target.flatten(1)
        both = (share * target).sum(1)
        return (1 - (2 * both + 1) / (share.sum(1) + target.sum(1) + 1)).mean()


def get_inputs():
    return [torch.randn(8, 1, 32, 32), torch.rand(8, 1, 32, 32)]


def get_init_inputs():
    return []
