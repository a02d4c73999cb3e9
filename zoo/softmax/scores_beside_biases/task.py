"""Weights of scores, beside the biases that belong to their shape."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        distances = (places[None] - places[:, None]).float()
        return x.softmax(-1), distances.masked_fill(distances > 0, 0.0)


def get_inputs():
    return [torch.randn(4, 512, 64)]


def get_init_inputs():
    return []
