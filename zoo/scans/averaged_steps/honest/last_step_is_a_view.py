"""The last state it returns is a view of all of them."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.share = nn.Parameter(torch.full((width,), -1.0))

    def forward(self, x):
        share, out = torch.sigmoid(self.share), torch.empty_like(x)
        torch.mul(x[:, 0], share, out=out[:, 0])
        for step in range(1, x.shape[1]):
            torch.lerp(out[:, step - 1], x[:, step], share, out=out[:, step])
        return out, out[:, -1]
