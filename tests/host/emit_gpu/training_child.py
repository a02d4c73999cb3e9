"""Runs in a process of its own with TRITON_INTERPRET=1, which Triton reads when it is imported.

Prints one JSON object: by module of the training tests what is wrong with the gradients that its
Triton kernels give in the interpreter.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import torch
from tests.host.compiler.test_training import MODULES, pair, source, trained


def fault(name: str, folder: Path) -> str:
    folder.mkdir()
    built, module, inputs = pair(folder, source(name), dialect="triton")
    if reason := built.why_not(*inputs):
        return reason
    found = zip(trained(built, inputs, 0), trained(module, inputs, 0), strict=True)
    for ours, theirs in found:
        try:
            torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)
        except AssertionError as error:
            return str(error)
    return ""


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as scratch:
        names = sys.argv[1:] or MODULES
        print(json.dumps({name: fault(name, Path(scratch, name)) for name in names}))
