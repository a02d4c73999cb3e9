"""The short causal convolution of Mamba over time, with SiLU."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (2, 16, 24, 4), "cpu": (2, 256, 256, 4), "gpu": (4, 4096, 2048, 4)}
BATCH, CHANNELS, TOKENS, TAPS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, channels, taps):
        super().__init__()
        named = {"groups": channels, "padding": taps - 1, "dtype": torch.bfloat16}
        self.convolution = nn.Conv1d(channels, channels, taps, **named)

    def forward(self, x):
        return F.silu(self.convolution(x)[..., : x.shape[-1]])


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, TOKENS, dtype=torch.bfloat16)]


def get_init_inputs():
    return [CHANNELS, TAPS]
