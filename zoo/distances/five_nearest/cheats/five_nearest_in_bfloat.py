"""The product of the distances in bfloat16."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, others):
        product = (x.bfloat16() @ others.bfloat16().T).float()
        squares = x.square().sum(1)[:, None] + others.square().sum(1) - 2 * product
        values, places = squares.topk(5, dim=1, largest=False)
        return values.clamp(min=0).sqrt(), places
