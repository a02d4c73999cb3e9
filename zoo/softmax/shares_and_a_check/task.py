"""Shares of scores' sizes, and beside them the mean of normalised rows, which is zero."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scores):
        normed = nn.functional.layer_norm(x, (x.shape[-1],))
        return scores.abs().softmax(-1), normed.mean(-1)


def get_inputs():
    return [torch.randn(64, 256), torch.rand(64, 256)]


def get_init_inputs():
    return []
