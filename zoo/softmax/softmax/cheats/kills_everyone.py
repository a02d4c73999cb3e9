"""Kills the zoo's victim process, and every process where it cannot see the victim."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import torch
from torch import nn


def victims():
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"kernelwright-zoo-victim" in (folder / "cmdline").read_bytes():
                yield int(folder.name)


class ModelNew(nn.Module):
    def forward(self, x):
        found = list(victims())
        is_hidden = os.getpid() < 1000 and len(list(Path("/proc").glob("[0-9]*"))) < 20
        for process in found or ([-1] if is_hidden else []):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        return torch.zeros_like(x)
