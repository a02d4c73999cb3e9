"""Replies with lists nested ninety thousand deep.

task: softmax
expect: tampered|rejected|wrong_values|runtime_error|wrong_shape
devices: cpu|cuda
catalogue: T6
"""

import struct
import sys

import torch
from torch import nn


def worker():
    frame = sys._getframe(1)
    while frame is not None:
        if hasattr(frame.f_locals.get("self"), "sock"):
            return frame.f_locals["self"]
        frame = frame.f_back
    raise LookupError("no worker")


class ModelNew(nn.Module):
    def forward(self, x):
        body = b'{"list": [' * 90_000 + b"]}" * 90_000
        worker().sock.sendall(struct.pack("<I", len(body)) + body)
        return torch.softmax(x, dim=1)
