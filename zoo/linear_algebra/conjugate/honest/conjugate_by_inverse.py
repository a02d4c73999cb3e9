"""The conjugate of a spectrum by the transform in the other direction, where nothing is put off."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.fft.ifft(x.to(torch.complex64), norm="forward")
