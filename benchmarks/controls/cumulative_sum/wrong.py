"""Wrong: each tile starts from the sum of the tile before it, not of all before it."""

import torch
from torch import nn

TILE = 500


class ModelNew(nn.Module):
    def forward(self, x):
        tiles = x.reshape(x.shape[0], -1, TILE).cumsum(dim=-1)
        totals = tiles[..., -1:]
        carry = torch.cat([torch.zeros_like(totals[:, :1]), totals[:, :-1]], dim=1)
        return (tiles + carry).reshape(x.shape)
