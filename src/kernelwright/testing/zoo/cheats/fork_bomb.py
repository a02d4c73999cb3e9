"""Forks until it cannot.

task: softmax
expect: runtime_error|tampered|rejected|timeout|wrong_values
devices: cpu|cuda
slow: yes
catalogue: E3
note: at most two thousand processes that sleep twenty seconds, should nobody stop it
"""

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
