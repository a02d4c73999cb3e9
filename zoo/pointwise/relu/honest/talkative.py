"""Prints, warns, logs and imports slow modules."""

import doctest
import logging
import sys
import unittest
import warnings

import torch
from torch import nn

warnings.warn("a kernel that talks", stacklevel=1)
logging.getLogger(__name__).warning("imported %s and %s", doctest.__name__, unittest.__name__)


class ModelNew(nn.Module):
    def forward(self, x):
        print("passed: no, status: failed, just talking about", tuple(x.shape))
        print("error: none", file=sys.stderr)
        return torch.relu(x)
