"""Announces a reply of a megabyte, sends three bytes of it and waits.

task: softmax
expect: tampered|rejected|timeout|runtime_error
devices: cpu|cuda
catalogue: T6
slow: yes
"""

import struct
import sys
import time

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
        worker().sock.sendall(struct.pack("<I", 1 << 20) + b"abc")
        time.sleep(100_000)
