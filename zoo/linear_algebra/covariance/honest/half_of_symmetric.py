"""Reads one triangle of a symmetric matrix, and not the one that the library reads."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, covariance, x):
        upper = covariance.triu(1)
        whole = upper + upper.mT + covariance.diagonal().diag()
        half = torch.linalg.cholesky(whole)
        return torch.linalg.solve_triangular(half, x, upper=False)
