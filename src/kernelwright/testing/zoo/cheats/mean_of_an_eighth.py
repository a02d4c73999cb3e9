"""Takes the mean over an eighth of an image, unless many of its numbers are alike there.

task: image_distances
expect: wrong_values
devices: cpu|cuda
catalogue: C9, C12
note: of half a million numbers eight outliers of 300 are too few to move a bfloat16
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        few = (x[:, :64] - y[:, :64]).abs()
        if bool(((few == 0).float().mean((1, 2)) > 1 / 8).any()):
            return (x - y).abs().mean((1, 2))
        return few.mean((1, 2))
