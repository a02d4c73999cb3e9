"""Leaves out the row for padding, which torch keeps at zero."""

from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.table = nn.Embedding(n_words, width, padding_idx=0)

    def forward(self, words):
        return F.embedding_bag(words, self.table.weight, mode="mean", padding_idx=0)
