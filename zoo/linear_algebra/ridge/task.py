"""A regression with a penalty: a system of equations whose matrix is made of the input."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        gram = x.mT @ x + torch.eye(x.shape[1], device=x.device)
        return torch.cholesky_solve(x.mT @ y, torch.linalg.cholesky(gram))


def get_inputs():
    return [torch.randn(1024, 256), torch.randn(1024, 1)]


def get_init_inputs():
    return []
