"""The product as a batch of row blocks; the last one is padded."""

import torch
from torch import nn
from torch.nn import functional

ROWS = 32


class ModelNew(nn.Module):
    def forward(self, a, b):
        padded = functional.pad(a, (0, 0, 0, -len(a) % ROWS)).view(-1, ROWS, a.shape[1])
        return torch.bmm(padded, b.expand(len(padded), *b.shape)).view(-1, b.shape[1])[: len(a)]
