"""The mean of the items that got a rating of 3.5 at least, of ratings in halves."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, items, ratings):
        liked = (ratings >= 3.5).float()
        total = (items * liked[..., None]).sum(1)
        return self.linear(total / liked.sum(1, keepdim=True).clamp(min=1))


def get_inputs():
    return [torch.rand(64, 200, 128), torch.randint(1, 11, (64, 200)) / 2]


def get_init_inputs():
    return [128]
