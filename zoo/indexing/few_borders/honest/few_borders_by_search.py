"""Searches the borders, and reads half of the covariance."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, borders, covariance):
        half = covariance.tril(-1) * 2 + covariance.diag().diag()
        return torch.searchsorted(borders, x, right=True), (x @ half * x).sum(-1)
