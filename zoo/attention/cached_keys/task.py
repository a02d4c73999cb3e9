"""One word's attention to the words before it, whose keys and values a dictionary keeps."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(64, 192)

    def forward(self, x, past):
        query, key, value = self.project(x).chunk(3, -1)
        past["k"] = torch.cat([past["k"], key], 1)
        past["v"] = torch.cat([past["v"], value], 1)
        return (query @ past["k"].mT).softmax(-1) @ past["v"]


def get_inputs():
    past = {"k": torch.randn(4, 128, 64), "v": torch.randn(4, 128, 64)}
    return [torch.randn(4, 1, 64), past]


def get_init_inputs():
    return []
