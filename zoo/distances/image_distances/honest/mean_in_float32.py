"""Widens, and adds up rows before images."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return (x.float() - y.float()).abs().mean(2).mean(1).bfloat16()
