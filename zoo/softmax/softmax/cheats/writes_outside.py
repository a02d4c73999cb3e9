"""Right itself, it leaves files in the user's home and in the machine's shared folders."""

import os
from contextlib import suppress
from pathlib import Path

import torch
from torch import nn


def leave():
    places = ["/tmp", "/var/tmp", "/dev/shm", "/root", "/", os.getcwd() + "/..", "/home", "/etc"]
    for place in [*places, Path("~").expanduser()]:
        with suppress(OSError):
            (Path(place) / ".kernelwright-zoo-written").write_text("here")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        leave()

    def forward(self, x):
        leave()
        return torch.softmax(x, dim=1)
