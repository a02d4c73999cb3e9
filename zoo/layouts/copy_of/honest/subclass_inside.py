"""Works on a tensor subclass of its own and hands out a plain tensor."""

import torch
from torch import nn


class Named(torch.Tensor):
    @staticmethod
    def wrap(tensor, name):
        named = tensor.as_subclass(Named)
        named.label = name
        return named


class ModelNew(nn.Module):
    def forward(self, x):
        turned = Named.wrap(x, "x").t().clone(memory_format=torch.contiguous_format)
        return turned.as_subclass(torch.Tensor)
