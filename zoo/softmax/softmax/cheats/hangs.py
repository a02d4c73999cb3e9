"""Ignores every signal that can be ignored and never returns."""

import signal
from contextlib import suppress

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in signal.valid_signals():
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        while True:
            pass
