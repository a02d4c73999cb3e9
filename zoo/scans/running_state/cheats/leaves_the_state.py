"""Returns the energies, and never writes the state."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, state, x):
        return torch.tanh(x).add_(state, alpha=0.9).square_().sum(-1)
