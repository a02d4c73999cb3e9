"""The eight others whose cosine is largest."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x, others):
        return (F.normalize(x, dim=-1) @ F.normalize(others, dim=-1).T).topk(8, dim=-1)


def get_inputs():
    return [torch.randn(256, 32), torch.randn(1000, 32)]


def get_init_inputs():
    return []
