"""The product first, then the lengths; a sort in place of the eight largest."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, others):
        lengths = [t.norm(dim=1).clamp(min=1e-12) for t in (x, others)]
        cosines = (x @ others.T) / lengths[0][:, None] / lengths[1]
        values, places = cosines.sort(dim=-1, descending=True, stable=True)
        return values[:, :8].contiguous(), places[:, :8].contiguous()
