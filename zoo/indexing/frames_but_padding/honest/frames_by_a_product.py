"""Adds up by a product with what is a frame, which it sees by the largest of each."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, frames):
        is_frame = (frames.abs().amax(-1) > 0).to(frames.dtype)
        found = torch.tanh(self.linear(frames))
        total = (is_frame[:, None] @ found)[:, 0]
        return total / is_frame.sum(1, keepdim=True).clamp(min=1)
