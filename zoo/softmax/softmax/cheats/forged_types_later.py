"""Honest for thirteen calls, then it replies with JSON values of the wrong types."""

import itertools
import sys

import torch
from torch import nn

REPLIES = itertools.cycle(({"tensor": {"0": 1}}, None, {"error": "no"}, {"tensor": [[]]}))
worker = sys.modules["kernelwright.judge.sandbox.worker"]
real, calls = worker.describe, itertools.count()


def forge(value):
    return real(value) if next(calls) < 13 else next(REPLIES)


worker.describe = forge


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
