"""Writes far outside its memory, which poisons the whole context."""

import torch
from torch import nn

SOURCE = 'extern "C" __global__ void stray(float* x) { x[1LL << 40] = 1; }'


class ModelNew(nn.Module):
    def forward(self, x):
        torch.cuda._compile_kernel(SOURCE, "stray")((1, 1, 1), (1, 1, 1), [x])
        return torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)
