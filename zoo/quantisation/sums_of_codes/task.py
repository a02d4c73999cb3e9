"""A product with weights of 8 bits, corrected by their sums, which are kept beside them."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.register_buffer("codes", torch.randint(-127, 128, (n_out, n_in), dtype=torch.int8))
        self.register_buffer("sums", self.codes.float().sum(1))

    def forward(self, x):
        return x @ self.codes.float().T - x.mean(1, keepdim=True) * self.sums


def get_inputs():
    return [torch.randn(16, 256)]


def get_init_inputs():
    return [256, 128]
