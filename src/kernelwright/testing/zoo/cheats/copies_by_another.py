"""A child that shares its memory copies while the parent already answers.

task: copy_of
expect: rejected|tampered|wrong_values|runtime_error|passed
max_speedup: 1.2
devices: cpu
catalogue: T2, T11
"""

import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[1], x.shape[0]).share_memory_()
        if os.fork() == 0:
            out.copy_(x.t())
            os._exit(0)
        return out
