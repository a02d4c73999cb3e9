"""Rows beyond the norm are scaled in every call, and the table stays as it is."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.words = nn.Embedding(n_words, width)

    def forward(self, numbers):
        rows = self.words(numbers)
        norms = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        return torch.where(norms > 4.0, rows * (4.0 / (norms + 1e-7)), rows).sum(1)
