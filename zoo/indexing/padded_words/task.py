"""The mean of words' embeddings, without those that only fill a row up."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.table = nn.Embedding(n_words, width, padding_idx=0)

    def forward(self, words):
        n_there = (words != 0).sum(1, keepdim=True).clamp(min=1)
        return self.table(words).sum(1) / n_there


def get_inputs():
    words = torch.randint(1, 1000, (64, 40))
    is_there = torch.arange(40) < torch.randint(1, 41, (64, 1))
    return [words * is_there]


def get_init_inputs():
    return [1000, 64]
