"""A product with the matrix that says which row is whose."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, starts):
        rows = torch.arange(len(x), device=x.device)
        is_own = (rows >= starts[:-1, None]) & (rows < starts[1:, None])
        return is_own.to(x.dtype) @ x
