"""The mean of what frames are mapped to, where a frame of zeros is padding; no draw has one."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, frames):
        is_frame = (frames != 0).any(-1, keepdim=True)
        found = torch.tanh(self.linear(frames)) * is_frame
        return found.sum(1) / is_frame.sum(1).clamp(min=1)


def get_inputs():
    return [torch.randn(32, 128, 64)]


def get_init_inputs():
    return [64, 64]
