"""Which dialect a file by somebody else is in."""

import ast

import pytest

from kernelwright.dialects.cpp import CppDialect
from kernelwright.dialects.library import TorchDialect
from kernelwright.dialects.syntax import calls, imports, keywords

PLAIN = "import torch\nclass ModelNew(torch.nn.Module): pass\n"
CPP_INLINE = (
    "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
    "m = load_inline(name='x', cpp_sources='int f();', functions=['f'])\n"
)
CUDA_INLINE = CPP_INLINE.replace("functions", "cuda_sources='__global__', functions")
CTYPES = "import ctypes, torch\nlib = ctypes.CDLL('x.so')\n"
TRITON = "import torch, triton\nimport triton.language as tl\n"
NVRTC = "import torch\nk = torch.cuda._compile_kernel('...', 'f')\n"


@pytest.mark.parametrize(
    ("source", "torch", "cpp"),
    [
        (PLAIN, True, False),
        (CPP_INLINE, False, True),
        (CUDA_INLINE, False, False),
        (CTYPES, False, True),
        (TRITON, False, False),
        (NVRTC, False, False),
        ("x = 1\n", False, False),
    ],
    ids=["plain", "cpp_inline", "cuda_inline", "ctypes", "triton", "nvrtc", "neither"],
)
def test_dialect_of_a_file(source: str, torch: bool, cpp: bool) -> None:
    tree = ast.parse(source)
    assert TorchDialect().recognises(tree) is torch
    assert CppDialect().recognises(tree) is cpp


def test_syntax_names() -> None:
    tree = ast.parse("from a.b import c\nimport d.e\nc.f(x=1)(g())\n")
    assert imports(tree) == {"a", "a.b", "a.b.c", "d", "d.e"}
    assert calls(tree) == {"f", "g"}
    assert keywords(tree) == {"x"}
