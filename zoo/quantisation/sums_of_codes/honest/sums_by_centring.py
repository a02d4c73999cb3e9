"""Centres the inputs, and needs no sums of weights."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.register_buffer("codes", torch.zeros(n_out, n_in, dtype=torch.int8))
        self.register_buffer("sums", torch.zeros(n_out))

    def forward(self, x):
        return (x - x.mean(1, keepdim=True)) @ self.codes.float().T
