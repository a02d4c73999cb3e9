"""Six numbers of each covariance are read, as its other three are the same."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, covariances, views):
        places = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        xx, xy, xz, yy, yz, zz = (covariances[:, i, j] for i, j in places)
        (u0, u1, u2), (v0, v1, v2) = views[:, 0].unbind(1), views[:, 1].unbind(1)
        p = xx * u0 + xy * u1 + xz * u2, xy * u0 + yy * u1 + yz * u2, xz * u0 + yz * u1 + zz * u2
        q = xx * v0 + xy * v1 + xz * v2, xy * v0 + yy * v1 + yz * v2, xz * v0 + yz * v1 + zz * v2
        a = u0 * p[0] + u1 * p[1] + u2 * p[2] + 0.3
        b = v0 * p[0] + v1 * p[1] + v2 * p[2]
        d = v0 * q[0] + v1 * q[1] + v2 * q[2] + 0.3
        r = 1 / (a * d - b * b)
        return torch.stack([d * r, -b * r, a * r], 1)
