"""Factorises what is definite, which fails where there is a NaN."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, right):
        definite = x @ x.mT + torch.eye(x.shape[-2], device=x.device)
        return torch.cholesky_solve(right, torch.linalg.cholesky(definite))
