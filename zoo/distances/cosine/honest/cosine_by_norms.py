"""Divides the product by both norms, with out= into buffers of its own."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        left = torch.linalg.vector_norm(x, dim=1).clamp_(min=1e-12)
        right = torch.linalg.vector_norm(y, dim=1).clamp_(min=1e-12)
        out = x.new_empty(len(x), len(y))
        torch.mm(x, y.t(), out=out)
        torch.div(out, left[:, None], out=out)
        return torch.div(out, right, out=out)
