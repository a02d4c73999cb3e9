"""Right but for a single NaN."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = self.norm(x)
        y.view(-1)[y.numel() // 3] = float("nan")
        return y
