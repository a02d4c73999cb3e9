"""torch's own, which gives zeros where a query sees no key."""

import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
