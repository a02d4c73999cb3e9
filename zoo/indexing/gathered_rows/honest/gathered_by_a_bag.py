"""Rows gathered and summed by the library's bag."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, chosen):
        return nn.functional.embedding_bag(chosen, x, mode="sum")
