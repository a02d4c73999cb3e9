"""Rounds to eight bits with a scale for each row, and back: its results are steps."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        return (x / scale).round().clamp(-127, 127) * scale


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
