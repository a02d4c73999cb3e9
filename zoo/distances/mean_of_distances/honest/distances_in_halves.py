"""Adds up what each half of the rows is apart from all."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.stack([torch.cdist(half, x).mean() for half in x.chunk(2)]).mean()
