"""A policy's clipped loss, and how far it has moved from the one before: a mean of differences that
nearly cancel."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, now, before, advantage):
        ratio = (now - before).exp()
        clipped = ratio.clamp(0.8, 1.2)
        loss = torch.maximum(-advantage * ratio, -advantage * clipped).mean()
        return loss, ((ratio - 1) - (now - before)).mean()


def get_inputs():
    return [torch.randn(4096) * 0.1, torch.randn(4096) * 0.1, torch.randn(4096)]


def get_init_inputs():
    return []
