"""The mean of words' vectors, without padding, and how often a label was guessed; of so many words
and labels hardly a draw holds either."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.table = nn.Embedding(n_words, width)
        self.head = nn.Linear(width, n_words)

    def forward(self, ids, labels):
        is_word = (ids != 0).float().unsqueeze(-1)
        means = (self.table(ids) * is_word).sum(1) / is_word.sum(1).clamp(min=1)
        scores = self.head(means)
        return scores, (scores.argmax(-1) == labels).float().mean()


def get_inputs():
    return [torch.randint(0, 30000, (16, 32)), torch.randint(0, 30000, (16,))]


def get_init_inputs():
    return [30000, 32]
