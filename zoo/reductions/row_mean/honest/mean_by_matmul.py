"""Row means as a product with a constant vector."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.shares = {}

    def forward(self, x):
        key = (x.shape[1], x.device)
        if key not in self.shares:
            self.shares[key] = torch.full((x.shape[1],), 1.0, device=x.device)
        return torch.mv(x, self.shares[key]) / x.shape[1]
