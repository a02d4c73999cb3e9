"""Builds its nested results with generators and views."""

from torch import nn


def pool(level):
    n, c, h, w = level.shape
    return level.view(n, c, h // 2, 2, w // 2, 2).mean(dim=(3, 5))


class ModelNew(nn.Module):
    def forward(self, levels):
        def extremes():
            yield levels[0].flatten().max()
            yield levels[1].flatten(2).sum(dim=2) / levels[1][0, 0].numel()

        return [pool(level) for level in levels], tuple(extremes())
