"""A custom autograd function with a backward that nobody asks for."""

import torch
from torch import nn


class Normal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        var, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
        out = (x - mean).mul_(torch.rsqrt(var + eps))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        raise NotImplementedError("inference only")


class ModelNew(nn.Module):
    def __init__(self, n_groups, n_channels):
        super().__init__()
        self.norm = nn.GroupNorm(n_groups, n_channels)

    def forward(self, x):
        grouped = x.reshape(len(x), self.norm.num_groups, -1)
        normal = Normal.apply(grouped, self.norm.eps).view(x.shape)
        weight, bias = self.norm.weight[:, None, None], self.norm.bias[:, None, None]
        return torch.addcmul(bias, normal, weight)
