"""Two layers that narrow to bfloat16 by name, weights too."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        for layer in (self.up, self.down):
            narrow = (t.to(torch.bfloat16) for t in (x, layer.weight, layer.bias))
            x = F.gelu(F.linear(*narrow))
        return x.float()


def get_inputs():
    return [torch.randn(128, 256)]


def get_init_inputs():
    return [256, 512]
