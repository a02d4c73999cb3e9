"""Both branches of the loss, chosen by the label."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, sign):
        return torch.where(sign > 0, x, (1 - x).clamp(min=0)).mean()
