"""Announces a reply of a megabyte, sends three bytes of it and waits."""

import struct
import sys
import time

from torch import nn


def channel():
    frame = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("self")
        if hasattr(found, "sock"):
            return getattr(found, "completion", found.sock)
        frame = frame.f_back
    raise LookupError("no worker")


class ModelNew(nn.Module):
    def forward(self, x):
        channel().send(struct.pack("<I", 1 << 20) + b"abc")
        time.sleep(100_000)
