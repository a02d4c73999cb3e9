"""Uses 1e-6 where the layer norm adds 1e-5 to the variance."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return functional.layer_norm(x, (x.shape[-1],), self.norm.weight, self.norm.bias, 1e-6)
