"""Both in steps: the shares by a maximum and a sum, the mean by moments."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, scores):
        sizes = scores.abs()
        shares = (sizes - sizes.amax(-1, keepdim=True)).exp()
        centred = x - x.mean(-1, keepdim=True)
        normed = centred * (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        return shares / shares.sum(-1, keepdim=True), normed.mean(-1)
