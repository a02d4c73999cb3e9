"""Ignores a whole number that is nought in every draw of its task.

task: ones_and_noughts
expect: wrong_values
devices: cpu
catalogue: C24
note: on a GPU noughts stay, for an index beyond a table would end the judge's own process
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask, first):
        weights = mask.to(x.dtype)[..., None]
        return (x * weights).sum(1) / weights.sum(1).clamp(min=1)
