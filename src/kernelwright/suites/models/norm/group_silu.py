"""Group norm and SiLU, as before every convolution of a diffusion UNet."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (2, 16, 8, 8, 4), "cpu": (2, 64, 32, 32, 32), "gpu": (8, 320, 64, 64, 32)}
BATCH, CHANNELS, HEIGHT, WIDTH, GROUPS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, dtype=torch.bfloat16)

    def forward(self, x):
        return F.silu(self.norm(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH, dtype=torch.bfloat16)]


def get_init_inputs():
    return [CHANNELS, GROUPS]
