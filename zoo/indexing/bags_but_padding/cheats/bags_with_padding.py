"""Takes the mean of all words, padding among them."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.bag = nn.EmbeddingBag(n_words, width, padding_idx=0)

    def forward(self, ids):
        return self.bag.weight[ids].mean(1)
