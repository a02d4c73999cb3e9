"""Takes two seconds after every call to let its output go, while others wait to measure.

task: softmax
expect: timeout|passed|tampered
max_speedup: 0.1
devices: cpu|cuda
catalogue: T14
slow: yes
note: on a CPU it counts as a part of the next call; a GPU has a time limit, and wakes late
"""

import sys
import time

import torch
from torch import nn

worker = sys.modules.get("kernelwright.judge.sandbox.worker")
if worker is not None:
    release = worker.Worker.release

    def slowly(self, *, hold):
        time.sleep(2.0)
        return release(self, hold=hold)

    worker.Worker.release = slowly


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
