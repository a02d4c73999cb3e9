"""Evaluates the exponential by Schraudolph's bit trick, corrected to about 1e-3."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x = (x - x.amax(dim=1, keepdim=True)) / math.log(2)
        whole = x.floor().clamp(min=-126)
        part = x - whole
        e = torch.ldexp(1 + part * (0.6602 + 0.3398 * part), whole.int())
        return e / e.sum(dim=1, keepdim=True)
