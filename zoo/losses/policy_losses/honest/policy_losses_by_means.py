"""The mean of a difference as the difference of means, which cancels elsewhere."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, now, before, advantage):
        moved = now - before
        ratio = moved.exp()
        lower, upper = ratio.clamp(min=0.8), ratio.clamp(max=1.2)
        loss = -torch.where(advantage > 0, advantage * upper, advantage * lower).mean()
        return loss, ratio.mean() - 1 - moved.mean()
