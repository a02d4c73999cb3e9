"""Opens the judge's and torch's own files for writing."""

import sys
from contextlib import suppress
from pathlib import Path

import torch
from torch import nn


def writable():
    named = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    # Relative names, as torch.ops has, lie nowhere.
    files = [Path(each).resolve() for each in named if each and each.startswith("/")]
    files = [path for path in files if not path.is_relative_to(Path.cwd())]
    for path in files:
        with suppress(OSError), open(path, "r+b"):
            return True
    for folder in {path.parent for path in files}:
        with suppress(OSError):
            (folder / ".kernelwright-zoo-written").touch()
            (folder / ".kernelwright-zoo-written").unlink()
            return True
    return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1) if writable() else torch.zeros_like(x)
