"""The convolution by Fourier transforms in float64, rounded at the end."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=1)

    def forward(self, x):
        height, width = x.shape[-2] + 2, x.shape[-1] + 2
        padded = torch.fft.rfft2(functional.pad(x.double(), (1, 1, 1, 1)))
        kernel = torch.fft.rfft2(self.conv.weight.double().flip(-2, -1), s=(height, width))
        y = torch.fft.irfft2(torch.einsum("nchw,ochw->nohw", padded, kernel), s=(height, width))
        return torch.relu(y[..., 2:, 2:].float() + self.conv.bias[:, None, None])
