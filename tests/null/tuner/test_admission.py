"""Admission refuses all that is more than kernels, a module and calls that compute."""

import pytest

from kernelwright.tuner.admission import refusal

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.language.extra import libdevice
"""
KERNEL = """
@triton.jit
def scaled_kernel(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    for step in range(2):
        x = tl.where(x > 0, x, libdevice.exp(x)) * scale
    tl.store(y_ptr + at, x.to(tl.float32), mask=at < n)
"""
MODEL = """
class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))
        self.eps = eps

    def launch(self, x):
        y = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
        scaled_kernel[grid](x, y, x.numel(), math.sqrt(self.eps), BLOCK=1024)
        return y

    def forward(self, x):
        if not x.is_contiguous():
            x = x.contiguous()
        return F.relu(self.launch(self.linear(x))) * self.scale.view(1, -1)
"""
IN_FORWARD = """
class ModelNew(nn.Module):
    def forward(self, x):
        {}
"""
REFUSED = {
    "another import": "import os",
    "a part of torch": "import torch.utils.cpp_extension",
    "a name of a module": "from torch import load",
    "all names": "from torch import *",
    "a relative import": "from . import torch",
    "an import under a forbidden name": "import math as open",
    "ctypes": "import ctypes",
    "open": IN_FORWARD.format("return open('x')"),
    "eval": IN_FORWARD.format("return eval('1')"),
    "exec": "exec('import os')",
    "getattr": IN_FORWARD.format("return getattr(x, 'numpy')()"),
    "__import__": "__import__('os')",
    "a builtin that is local elsewhere": "def f(x):\n    open = x\n\ndef g(x):\n    return open(x)",
    "a dunder attribute": IN_FORWARD.format("return x.__class__.__mro__"),
    "a dunder on a module": "y = torch.__loader__",
    "a private attribute": IN_FORWARD.format("return torch._C"),
    "torch.load": IN_FORWARD.format("return torch.load('x')"),
    "torch.ops": IN_FORWARD.format("return torch.ops.load_library('x')"),
    "torch.hub": "y = torch.hub.load('a', 'b')",
    "a module behind a module": IN_FORWARD.format("return F.importlib.import_module('os')"),
    "a module as a value": "m = torch",
    "a module in a list": "m = [F]",
    "assembly": KERNEL.replace("libdevice.exp(x)", "tl.inline_asm_elementwise(x)"),
    "tensors' files": IN_FORWARD.format("return x.numpy().tofile('x')"),
    "an own attribute on something else": IN_FORWARD.format(
        "self.numpy = 1\n        return x.numpy()"
    ),
    "an own attribute below self": IN_FORWARD.format(
        "self.numpy = 1\n        self.y = x\n        return self.y.numpy()"
    ),
    "self that is another": "def f(self):\n    return self.shape",
    "self that is set": IN_FORWARD.format("self = x"),
    "self of a lambda": "f = lambda self: self.shape",
    "a method like an attribute": IN_FORWARD.replace("forward", "to").format("return x"),
    "an attribute of torch that is set": "torch.relu = torch.abs",
    "an attribute of a tensor that is set": IN_FORWARD.format("x.data = x"),
    "a class of another kind": "class ModelNew(dict):\n    pass",
    "a metaclass": "class ModelNew(nn.Module, metaclass=nn.Module):\n    pass",
    "a decorator": "@torch.no_grad\ndef f(x):\n    return x",
    "a dunder method": IN_FORWARD.replace("forward", "__getattr__").format("return x"),
    "with": IN_FORWARD.format("with x: return x"),
    "try": "try:\n    y = 1\nexcept ValueError:\n    y = 2",
    "global": IN_FORWARD.format("global y"),
    "del": "y = 1\ndel y",
    "while": IN_FORWARD.format("while True: pass"),
    "an f-string": 'y = f"{torch}"',
    "format": "y = '{0.real}'.format(1)",
    "await": "async def f(x):\n    return x",
    "no Python": "this is no Python",
}


def test_kernels_and_a_module_that_launches_them_are_admitted():
    assert refusal(HEAD + KERNEL + MODEL) == ""


@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_refused(name):
    assert refusal(HEAD + REFUSED[name])


def test_a_refusal_names_the_line():
    assert refusal("import torch\nimport os\n") == "line 2: import of os"
