"""Mean and variance of two halves, put together as Chan does."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.shape[-1] // 2
        halves = x.unflatten(-1, (2, n))
        means = halves.mean(-1, keepdim=True)
        squares = (halves - means).square().sum((-1, -2), keepdim=True)
        gap = means[:, 1:] - means[:, :1]
        variance = (squares + gap * gap * n / 2) / (2 * n)
        mean = means[:, :1] + gap / 2
        return ((halves - mean) * (variance + 1e-5).rsqrt()).flatten(-2)
