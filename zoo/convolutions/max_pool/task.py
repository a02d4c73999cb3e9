"""Max pooling, 3 x 3 with stride 2."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def __init__(self, width, stride):
        super().__init__()
        self.width, self.stride = width, stride

    def forward(self, x):
        return functional.max_pool2d(x, self.width, stride=self.stride)


def get_inputs():
    return [torch.randn(4, 8, 33, 33)]


def get_init_inputs():
    return [3, 2]
