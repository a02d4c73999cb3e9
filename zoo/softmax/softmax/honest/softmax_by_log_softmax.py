"""The exponential of the library's log-softmax."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.log_softmax(x, dim=1).exp_()
