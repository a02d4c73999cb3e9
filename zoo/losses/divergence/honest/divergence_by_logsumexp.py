"""The scores' logarithm of a sum beside the sum of the rest."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, scores, p):
        shifted = scores - scores.amax(-1, keepdim=True)
        return (p * (p.log() - shifted + shifted.logsumexp(-1, keepdim=True))).sum(-1)
