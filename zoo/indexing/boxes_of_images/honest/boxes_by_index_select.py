"""Images are selected by an index that bears no number below zero."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, images, boxes):
        numbers, x1, y1, x2, y2 = boxes.unbind(1)
        at = torch.arange(images.shape[-1], device=images.device) + 0.5
        columns = ((at >= x1[:, None]) & (at < x2[:, None])).float()
        rows = ((at >= y1[:, None]) & (at < y2[:, None])).float()
        chosen = images.index_select(0, numbers.long())
        sums = torch.einsum("kchw,kh,kw->kc", chosen, rows, columns)
        return sums / (columns.sum(1) * rows.sum(1)).clamp_min(1)[:, None]
