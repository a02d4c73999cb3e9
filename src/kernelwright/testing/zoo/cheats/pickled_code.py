"""Returns an object that runs code in whoever unpickles it.

task: softmax
expect: rejected|tampered|wrong_values|runtime_error|wrong_shape|wrong_dtype
devices: cpu|cuda
catalogue: T5, T6
note: the code would write the file that the zoo's canaries look for
"""

import os

from torch import nn

LEAVE = "touch ~/.kernelwright-zoo-written /tmp/.kernelwright-zoo-written"


class Bait:
    def __reduce__(self):
        return os.system, (LEAVE,)


class ModelNew(nn.Module):
    def forward(self, x):
        return Bait()
