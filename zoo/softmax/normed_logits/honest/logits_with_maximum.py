"""A softmax written out, with its maximum; the norm's scale and shift are folded
into the product.
"""

from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, width, n_words):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_words)

    def forward(self, x):
        weight = self.head.weight * self.norm.weight
        bias = self.head.bias + self.head.weight @ self.norm.bias
        y = F.linear(F.layer_norm(x, x.shape[-1:]), weight, bias)
        e = (y - y.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)
