"""Takes the largest eight times and strikes it out each time."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        left, values, places = x.clone(), [], []
        for _ in range(8):
            value, place = left.max(dim=1, keepdim=True)
            left.scatter_(1, place, float("-inf"))
            values.append(value)
            places.append(place)
        return torch.cat(values, dim=1), torch.cat(places, dim=1)
