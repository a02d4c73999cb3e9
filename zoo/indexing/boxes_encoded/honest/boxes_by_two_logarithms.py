"""The logarithm of a quotient as the difference of two."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, boxes, anchors):
        off = (boxes[:, :2] - anchors[:, :2]) * (10 / anchors[:, 2:])
        return torch.cat([off, 5 * (boxes[:, 2:].log() - anchors[:, 2:].log())], 1)
