"""Pads every stretch to the longest, which the caller tells."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def forward(self, q, k, v, ends, longest):
        place = torch.arange(longest, device=q.device)
        is_there = place < ends.diff()[:, None]
        rows = (ends[:-1, None] + place).clamp(max=len(q) - 1)
        padded = (x[rows].transpose(1, 2) for x in (q, k, v))
        found = F.scaled_dot_product_attention(*padded, attn_mask=is_there[:, None, None])
        return found.transpose(1, 2)[is_there]
