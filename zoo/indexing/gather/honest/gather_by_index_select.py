"""Gathers by another of the library's calls, with the index cast and cast back."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table, rows):
        return torch.nn.functional.embedding(rows.int(), table)
