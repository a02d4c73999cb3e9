"""Reads keys where the reference writes them: every slot is there once."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k, slots):
        order = slots.argsort()
        return torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1)[:, order], k[order]
