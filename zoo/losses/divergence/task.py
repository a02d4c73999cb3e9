"""How far scores are from probabilities, which the reference checks to be some."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, scores, p):
        if not bool(((p > 0) & (p <= 1)).all()):
            raise ValueError("these are no probabilities")
        return (p * (p.log() - torch.log_softmax(scores, -1))).sum(-1)


def get_inputs():
    return [torch.randn(64, 256) * 0.3, torch.softmax(torch.randn(64, 256), -1)]


def get_init_inputs():
    return []
