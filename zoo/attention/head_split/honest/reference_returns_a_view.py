"""Returns a view of its input, exactly where the task's own reference does."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads

    def forward(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, length, self.n_heads, width // self.n_heads).movedim(2, 1)
