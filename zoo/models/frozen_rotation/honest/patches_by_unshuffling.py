"""Takes patches apart without the filter of ones and zeros that does it."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        patches = torch.eye(4).view(4, 1, 2, 2)
        self.patches = nn.Parameter(patches, requires_grad=False)
        self.rotation = nn.Parameter(torch.eye(width), requires_grad=False)
        self.head = nn.Linear(width, width)

    def forward(self, x):
        x = functional.pixel_unshuffle(x[:, None], 2).flatten(1)
        return self.head(torch.tanh(x @ self.rotation))
