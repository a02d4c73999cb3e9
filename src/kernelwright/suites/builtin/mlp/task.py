"""Three linear layers with ReLUs between them."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (32, 64, 128, 32), "cpu": (256, 512, 1024, 256), "gpu": (2048, 1024, 4096, 1024)}
ROWS, INPUTS, HIDDEN, OUTPUTS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.third = nn.Linear(hidden, outputs)

    def forward(self, x):
        h = torch.relu(self.first(x))
        h = torch.relu(self.second(h))
        return self.third(h)


def get_inputs():
    return [torch.randn(ROWS, INPUTS)]


def get_init_inputs():
    return [INPUTS, HIDDEN, OUTPUTS]
