"""Means over boxes, each beside the number of its image, which is a float as theirs."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, images, boxes):
        x1, y1, x2, y2 = boxes[:, 1:].unbind(1)
        at = torch.arange(images.shape[-1], device=images.device) + 0.5
        columns = ((at >= x1[:, None]) & (at < x2[:, None])).float()
        rows = ((at >= y1[:, None]) & (at < y2[:, None])).float()
        mask = rows[:, None, :, None] * columns[:, None, None, :]
        return (images[boxes[:, 0].long()] * mask).sum((2, 3)) / mask.sum((2, 3)).clamp(min=1)


def get_inputs():
    corners = 16 * torch.rand(12, 2)
    numbers = torch.randint(3, (12, 1)).float()
    boxes = torch.cat([numbers, corners, corners + 2 + 8 * torch.rand(12, 2)], 1)
    return [torch.randn(3, 8, 24, 24), boxes]


def get_init_inputs():
    return []
