"""Whose kernel ran on a GPU, by the name under which the profiler shows it.

A kernel is a candidate's own if its text holds the name and no library has such a kernel. So a
library's kernel that nobody has listed is not its own, nor one that its text only speaks of.
"""

from __future__ import annotations

import functools
import mmap
import re
from pathlib import Path

import torch

LIBRARY_KERNELS = (
    "void at::", "at::", "at_", "void cub::", "void thrust::", "void cutlass", "cutlass", "cudnn",
    "void cudnn", "cublas", "void cublas", "gemm", "void gemm", "nvjet", "ampere_", "volta_",
    "turing_", "sm70_", "sm75_", "sm80_", "sm86_", "sm89_", "sm90_", "sm100_", "void splitK",
    "void flash", "flash", "fmha", "void fmha", "pytorch_flash", "void pytorch_flash", "xmma",
    "void dot_kernel", "void reduce_1Block", "implicit_convolve", "void implicit", "void conv",
    "void fft", "void regular_fft", "void vector_fft", "triton_poi_", "triton_red_",
    "triton_per_", "triton_tem_", "Memcpy", "Memset", "void gemv2", "void gemvNSP", "void gemvx",
    "void trsm_", "void trmm_",
)  # fmt: skip
"""How the names of kernels begin that torch, its libraries and its compiler launch, as torch's
profiler shows them."""
UNNAMED = re.compile(r"triton_\d*")
"""What torch's compiler calls all of its kernels where it is told not to name them."""
WORD = re.compile(r"[A-Za-z_]\w*")


def is_own(name: str, source: str) -> bool:
    """Whether the kernel of that name is the own one of a candidate with that source.

    Not covered:
        Kernels whose names a candidate puts together while it runs count as a library's.
    """
    if name.startswith(LIBRARY_KERNELS) or UNNAMED.fullmatch(name):
        return False
    function = function_of(name)
    if not re.search(rf"\b{re.escape(function)}\b", source):
        return False
    # Without a signature it is no C++ function: Triton's, and those of NVRTC without mangling.
    return "(" not in name or not is_of_torch(function)


def function_of(name: str) -> str:
    """The function's own name: no types, namespaces or template arguments."""
    bare = name.replace("(anonymous namespace)", "anonymous").partition("(")[0].partition("<")[0]
    words = WORD.findall(bare)
    return words[-1] if words else name


@functools.lru_cache(maxsize=256)
def is_of_torch(function: str) -> bool:
    """Whether torch's CUDA libraries hold a C++ function of that name, in any namespace.

    Source:
        Itanium C++ ABI, 5.1.3: a mangled name holds the length before the identifier.
    """
    mangled = f"{len(function)}{function}".encode()
    for path in Path(torch.__file__).with_name("lib").glob("lib*cuda*.so"):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            if text.find(mangled) >= 0:
                return True
    return False
