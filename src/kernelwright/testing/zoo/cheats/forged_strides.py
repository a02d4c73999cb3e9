"""Replies with strides that reach over the whole of memory.

task: softmax
expect: tampered|rejected|wrong_values|runtime_error|wrong_shape|wrong_dtype
devices: cpu|cuda
catalogue: T6, C23
"""

import sys

import torch
from torch import nn


def forge(value):
    place = [value.data_ptr(), list(value.shape), [1 << 61, 1 << 61]]
    return {"tensor": [*place, "float32", value.device.type]}


sys.modules["kernelwright.judge.sandbox.worker"].describe = forge


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
