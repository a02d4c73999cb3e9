"""The Python lines in a candidate that compile its C++ text and bind the functions in it."""

from __future__ import annotations

IMPORTS = (
    "import ctypes", "import hashlib", "import math", "import mmap", "import os", "import platform",
    "import subprocess", "import sys", "import tempfile", "import threading", "import torch",
)  # fmt: skip

HEAD = """\
#include <stdint.h>
#include <stdlib.h>
"""

LANES = """\
template <int N> struct lanes_t { static constexpr int n = N; };
"""

BUILD = '''\
FLAGS = ["-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math"]
if platform.machine() in ("x86_64", "AMD64"):
    FLAGS.append("-mprefer-vector-width=512")


def _own_folder():
    """A folder for compiled kernels that nobody else may write to; None: there is none."""
    if named := os.environ.get("TORCH_EXTENSIONS_DIR"):
        os.makedirs(named, exist_ok=True)
        return named
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(caches, "cpp-kernels")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return None
    found = os.stat(folder)
    is_own = found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if is_own and os.access(folder, os.W_OK) else None


def _build(source):
    """Compile ``source`` once per processor, compiler and flags; later calls find the file."""
    compiler = os.environ.get("CXX", "g++")
    asked = [compiler, *FLAGS, "-###", "-E", "-x", "c++", os.devnull]  # its version; what is native
    told = subprocess.run(asked, cwd="/", capture_output=True, text=True).stderr
    key = "\\n".join([source, platform.platform(), told, *FLAGS])
    folder = _own_folder()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        name = f"kernels_{hashlib.sha256(key.encode()).hexdigest()[:24]}.so"
        path = os.path.join(folder or scratch, name)
        if not os.path.exists(path):
            text, built = os.path.join(scratch, "kernels.cpp"), os.path.join(scratch, "kernels.so")
            with open(text, "w") as file:
                file.write(source)
            command = [compiler, *FLAGS, text, "-o", built]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{compiler} failed:\\n{done.stderr}")
            os.replace(built, path)
        return ctypes.CDLL(path)


def _bind(name, n_pointers, *sizes, result=None):
    function = getattr(_library, name)
    function.argtypes = [*[ctypes.c_void_p] * n_pointers, *sizes]
    function.restype = result
    return function


_library = _build(SOURCE)
'''

KEPT_BYTES = 1 << 20
"""Size in bytes from which tensors are allocated by ``_empty``: malloc usually maps fresh memory
for them."""

KEEP = '''\
LEAST_KEPT = 1 << 20  # bytes; malloc keeps what is smaller
N_KEPT = 4  # of one size; what is beyond is given back
_kept = {}  # power of two in bytes → memory of results, which live or have died
_keeping = threading.Lock()


def _holders(kept):
    return [sys.getrefcount(memory) for memory in kept]


_NOBODY = _holders([object()])[0]


def _empty(shape, strides, dtype):
    """Like torch.empty_strided, in the memory of an earlier result if nobody holds that any more.

    Fresh memory costs a page fault for every 4 kB of it, which is more than most kernels take.
    """
    if dtype.itemsize * math.prod(shape) < LEAST_KEPT:
        return torch.empty_strided(shape, strides, dtype=dtype)
    size = dtype.itemsize * (1 + sum((n - 1) * stride for n, stride in zip(shape, strides)))
    size = 1 << (size - 1).bit_length()  # pages beyond are never touched
    with _keeping:
        kept = _kept.setdefault(size, [])
        holders = _holders(kept)
        if _NOBODY in holders:
            memory = kept[holders.index(_NOBODY)]
        else:
            memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            if hasattr(mmap, "MADV_HUGEPAGE"):
                memory.madvise(mmap.MADV_HUGEPAGE)
            if len(kept) < N_KEPT:
                kept.append(memory)
        return torch.frombuffer(memory, dtype=dtype).as_strided(shape, strides)
'''
