"""Writes the weights into a matrix, for no edge is there twice."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, edges, weight):
        matrix = x.new_zeros(len(x), len(x))
        matrix[edges[0], edges[1]] = weight
        return matrix @ x, matrix.sum(1)
