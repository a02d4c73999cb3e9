"""The owner of a kernel on a GPU, by the name under which the profiler shows it.

A kernel is a candidate's own if its text holds the name and no library has a function of that name
in that namespace. So neither a library's kernel that is not listed below is its own, nor one that
its text only mentions; kernels named ``pool``, ``flash`` or ``gemm_kernel`` can be.
"""

from __future__ import annotations

import functools
import mmap
import re
from pathlib import Path

import torch

LIBRARY_KERNELS = (
    "void at::", "at::", "void at_cuda_detail::", "at_cuda_detail::", "void cub::",
    "void thrust::", "nvjet", "ampere_", "volta_", "turing_", "sm70_", "sm75_", "sm80_", "sm86_",
    "sm89_", "sm90_", "sm100_", "void splitKreduce", "void flash::", "void pytorch_flash::",
    "fmha_cutlass", "void reduce_1Block_kernel", "implicit_convolve_", "void implicit_convolve_",
    "void conv2d_c1_k1_", "void conv2d_grouped_direct_", "void convolve_common_", "void fft2d_",
    "void regular_fft", "void vector_fft", "triton_poi_", "triton_red_", "triton_per_",
    "triton_tem_", "Memcpy", "Memset", "void gemmSN_", "void gemmk1_", "void gemm_kernel2x2_",
    "void gemv2", "void gemvNSP", "void gemvx", "void trsm_", "void trmm_",
)  # fmt: skip
"""Beginnings of the names of kernels that torch, its libraries and its compiler launch, as torch's
profiler shows them."""
LIBRARY_WORDS = ("cublas", "cudnn", "cutlass", "cask_", "xmma")
"""Words that occur in the names of library kernels, or of their arguments' types."""
UNNAMED = re.compile(r"triton_\d*")
"""Names of the kernels of torch's compiler if it does not name them by their work."""
WORD = re.compile(r"[A-Za-z_]\w*")
ANONYMOUS, ANY_ANONYMOUS = "_GLOBAL__N_", rb"_GLOBAL__N_\w{0,200}?"


def is_own(name: str, source: str) -> bool:
    """Whether the kernel of that name is the own one of a candidate with that source.

    Not covered:
        Kernels whose names a candidate puts together while it runs count as a library's.
    """
    is_listed = name.startswith(LIBRARY_KERNELS) or any(word in name for word in LIBRARY_WORDS)
    if is_listed or UNNAMED.fullmatch(name):
        return False
    path = path_of(name)
    if not re.search(rf"\b{re.escape(path[-1])}\b", source):
        return False
    # Without a signature it is no C++ function: Triton's, and those of NVRTC without mangling.
    return "(" not in name or not is_of_torch(path)


def path_of(name: str) -> tuple[str, ...]:
    """The function's namespaces and its own name, without types and template arguments."""
    bare = name.replace("(anonymous namespace)", ANONYMOUS).partition("(")[0].partition("<")[0]
    return tuple(WORD.findall(bare.rpartition(" ")[2])) or (name,)


@functools.lru_cache(maxsize=256)
def is_of_torch(path: tuple[str, ...]) -> bool:
    """Whether torch's CUDA libraries hold a C++ function of that name in those namespaces.

    Source:
        Itanium C++ ABI, 5.1.3 and 5.1.4: a mangled name holds the length before each identifier;
        what the compilers call a namespace without a name begins with _GLOBAL__N_.
    """
    parts = [ANY_ANONYMOUS if p == ANONYMOUS else f"{len(p)}{p}".encode() for p in path]
    whole = b"".join(parts)
    mangled = re.compile(b"_Z" + whole if len(parts) == 1 else whole + b"[EI]")  # or arguments
    for library in Path(torch.__file__).with_name("lib").glob("lib*cuda*.so"):
        with library.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as text:
            if mangled.search(text):
                return True
    return False
