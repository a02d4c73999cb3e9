"""What masks share is a product of matrices, whose sums round otherwise; where nearly all is shared
the loss is what is left of one."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, target):
        share, target = torch.sigmoid(x).flatten(1), target.flatten(1)
        both = torch.bmm(share[:, None], target[:, :, None])[:, 0, 0]
        return 1 - ((2 * both + 1) / (share.sum(1) + target.sum(1) + 1)).mean()
