"""Fails with a text that no terminal can print and no archive can store."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError("half a character: \ud800")
