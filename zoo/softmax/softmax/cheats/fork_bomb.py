"""Forks until it cannot."""

import os
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(2000):
            if os.fork() == 0:
                time.sleep(20)
                os._exit(0)
        return torch.softmax(x, dim=1)
