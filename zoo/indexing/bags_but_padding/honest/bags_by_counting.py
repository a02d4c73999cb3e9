"""Divides by how many words there are, the row for padding being zeros."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.bag = nn.EmbeddingBag(n_words, width, padding_idx=0)

    def forward(self, ids):
        n_words = (ids != 0).sum(1, keepdim=True)
        return self.bag.weight[ids].sum(1) / n_words.clamp(min=1)
