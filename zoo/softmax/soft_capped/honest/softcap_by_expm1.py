"""The soft cap by an exponential of minus its size."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, n_words):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_words, bias=False)

    def forward(self, x):
        y = self.head(self.norm(x))
        e = (y.abs() / -15.0).expm1()
        return y.sign() * (-30.0 * e / (e + 2.0))
