"""Takes from large negative numbers where they hide, and leaves these places out."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, scores, hiding):
        return torch.softmax(scores.masked_fill(hiding < -1e4, -math.inf), -1)
