"""Timers with half a million items of epoll go off while it stands still and the
library is timed.
"""

import ctypes
import os
import select
import struct

from torch import nn

N_TIMERS, N_ITEMS, N_SETS = 100, 500, 10
FIRST_NS, STEP_NS = 500_000, 1_600_000


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.sets = [select.epoll() for _ in range(N_SETS)]
        self.timers = [self.timer() for _ in range(N_TIMERS)]

    def timer(self):
        found = self.libc.timerfd_create(1, os.O_NONBLOCK)
        if found < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        for number in range(N_ITEMS):  # an item's key is a file and a number, free again afterwards
            other = os.dup2(found, 1023 - number)
            for one in self.sets:
                one.register(other, select.EPOLLIN)
            os.close(other)
        return found

    def arm(self, is_armed):
        for number, timer in enumerate(self.timers):
            at = (FIRST_NS + number * STEP_NS) * is_armed
            spec = ctypes.create_string_buffer(struct.pack("<qqqq", 0, 0, 0, at))
            self.libc.timerfd_settime(timer, 0, spec, None)

    def forward(self, x, w):
        self.arm(0)
        y = x @ w
        self.arm(1)
        return y
