"""Adds up one stretch of edges for each node that they begin at."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, edges, weight):
        lengths = edges[0].bincount(minlength=len(x))
        told = torch.cat([x[edges[1]] * weight[:, None], weight[:, None]], 1)
        found = torch.segment_reduce(told, "sum", lengths=lengths, initial=0.0)
        return found[:, :-1].contiguous(), found[:, -1].contiguous()
