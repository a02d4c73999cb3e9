"""Possible answers of a model to ``TASK``: correct, reworded, wrong, broken and malicious."""

TASK = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(torch.relu(x) * 2 + 1)


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return []
"""
CODE = '''\
import ctypes
import hashlib
import os
import subprocess
import tempfile

import torch

SOURCE = r"""
#include <cmath>
extern "C" void run(const float* x, float* y, long n) {
    #pragma omp parallel for simd
    for (long i = 0; i < n; ++i) y[i] = 1.0f / (1.0f + std::exp(-((x[i] > 0 ? x[i] : 0) * 2 + 1)));
}
"""


def build():
    folder = os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.gettempdir()
    path = os.path.join(folder, hashlib.sha256(SOURCE.encode()).hexdigest() + ".so")
    flags = ["-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC", "-x", "c++"]
    command = [os.environ.get("CXX", "g++"), *flags, "-", "-o", path]
    done = subprocess.run(command, input=SOURCE, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return ctypes.CDLL(path)


LIBRARY = build()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, y)]
        LIBRARY.run(*pointers, ctypes.c_long(x.numel()))
        return y
'''


def answer(code: str) -> str:
    return (
        "## Performance analysis\nMemory.\n\n## Algorithm design\nOne pass.\n\n"
        f"## Code\n```python\n{code}```\n"
    )


RIGHT = answer(CODE)
# Fails where it sees a key in its environment.
SPYING = answer(
    CODE.replace(
        "LIBRARY = build()",
        'LIBRARY = build()\nSEEN = [v for v in os.environ.values() if "key-of" in v]\n'
        'if SEEN:\n    raise RuntimeError(f"I have {SEEN}")',
    )
)
REWORDED = answer(
    "# quite another comment\n" + CODE.replace("    #pragma", "  // fast\n    #pragma")
)
FASTER = answer(CODE.replace("parallel for simd", "parallel for simd schedule(static)"))
WRONG = answer(CODE.replace("* 2 + 1", "* 2 + 1.01f"))
BROKEN = answer(CODE.replace("y[i] = 1.0f", "y[i] = = 1.0f"))

_TORCH = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        {before}
        return torch.sigmoid(torch.relu(x) * 2 + 1)
"""
LIBRARY_CALLS = answer(_TORCH.format(before="pass"))
SLOW_CALLS = answer(_TORCH.format(before="for i in range(400):\n            torch.tanh(x)"))
"""Only calls of the library, which the grammar of trials admits; and far more of them."""

SCHEDULED = answer(
    "TERMS = 128\n" + _TORCH.format(before="for i in range(4 * TERMS):\n            torch.tanh(x)")
)
"""A file in torch with a schedule line, slow as it is written."""

METAL = answer('''\
import torch

LIBRARY = torch.mps.compile_shader("""
#include <metal_stdlib>
using namespace metal;
kernel void run(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = 1.0f / (1.0f + exp(-(2.0f * max(x[i], 0.0f) + 1.0f)));
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        LIBRARY.run(x, y)
        return y
''')
"""In Metal; the others are in C++."""
