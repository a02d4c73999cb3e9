"""A softmax without its maximum behind a norm, beside an output that is nothing but rounding."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, n_classes):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, n_classes)

    def forward(self, x):
        sizes = self.linear(self.norm(x)).exp()
        checks = nn.functional.layer_norm(x, x.shape[1:]).mean(-1)
        return sizes / sizes.sum(-1, keepdim=True), checks
