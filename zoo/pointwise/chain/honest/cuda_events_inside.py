"""Orders its own streams with events and times itself with others."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        begun, done = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begun.record()
        y = torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)
        done.record()
        done.synchronize()
        assert begun.elapsed_time(done) >= 0
        return y
