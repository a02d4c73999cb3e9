"""Replies with JSON values of the wrong types."""

import sys

import torch
from torch import nn


def forge(value):
    return {"tensor": [None, "shape", {}, 3, []]}


sys.modules["kernelwright.judge.sandbox.worker"].describe = forge


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
