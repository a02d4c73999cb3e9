"""Takes the mean of all frames, those of padding among them."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, frames):
        return torch.tanh(self.linear(frames)).mean(1)
