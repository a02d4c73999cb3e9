"""Adds up words in bags, weighted by whether they are words."""

from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.table = nn.Embedding(n_words, width)
        self.head = nn.Linear(width, n_words)

    def forward(self, ids, labels):
        is_word = (ids != 0).float()
        sums = F.embedding_bag(ids, self.table.weight, mode="sum", per_sample_weights=is_word)
        scores = self.head(sums / is_word.sum(1, keepdim=True).clamp(min=1))
        return scores, (scores.max(-1).indices == labels).sum() / len(labels)
