"""The beginning of rows, by a length that is the whole row in every draw."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, length):
        at = torch.arange(x.shape[1], device=x.device)
        return torch.where(at < length, torch.tanh(x), 0.0)


def get_inputs():
    return [torch.randn(512, 512), torch.tensor(512)]


def get_init_inputs():
    return []
