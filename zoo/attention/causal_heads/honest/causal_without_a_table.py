"""Needs no table of what may be seen: the library's attention is told that it is causal."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, width, n_heads, longest):
        super().__init__()
        self.n_heads = n_heads
        self.all_three = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        n, length, _ = x.shape
        heads = self.all_three(x).view(n, length, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))
