"""Takes rows of a table by numbers that lie once in memory and stand there for all."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(64, 32)

    def forward(self, x, ids):
        return x + self.places.weight.index_select(0, ids.reshape(-1)).view_as(x)
