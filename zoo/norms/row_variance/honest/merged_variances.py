"""Variances of blocks, merged pairwise by Chan's formula."""

from torch import nn

BLOCK = 128


class ModelNew(nn.Module):
    def forward(self, x):
        count, mean = 0, x.new_zeros(len(x))
        squares = x.new_zeros(len(x))
        for block in x.split(BLOCK, dim=1):
            n = block.shape[1]
            other = block.mean(dim=1)
            step = other - mean
            squares = squares + (block - other[:, None]).square().sum(dim=1)
            squares = squares + step * step * (count * n / (count + n))
            mean = mean + step * (n / (count + n))
            count += n
        return squares / (count - 1)
