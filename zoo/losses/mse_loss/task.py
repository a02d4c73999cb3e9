"""The mean squared error of predictions: one number."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(self, predictions, targets):
        return functional.mse_loss(predictions, targets)


def get_inputs():
    return [torch.randn(128, 777), torch.randn(128, 777)]


def get_init_inputs():
    return []
