"""The whole complex transform, cut to the half that real inputs need."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.fft.fft(x.to(torch.complex64))[..., : x.shape[-1] // 2 + 1]
