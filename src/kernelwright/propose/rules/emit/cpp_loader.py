"""The Python lines inside a candidate that compile its C++ text and bind the functions in it."""

from __future__ import annotations

IMPORTS = (
    "import ctypes", "import hashlib", "import os", "import platform", "import subprocess",
    "import tempfile", "import torch",
)  # fmt: skip

HEAD = """\
#include <stdint.h>
#include <stdlib.h>
"""

HUGE_PAGES = """\
#ifdef __linux__
#include <sys/mman.h>
#endif
// Ask for huge pages under a fresh output: with small ones, page faults cost more than the work.
static void huge_pages(void* data, size_t n_bytes) {
#ifdef __linux__
  const uintptr_t begin = ((uintptr_t)data + 4095) & ~(uintptr_t)4095;
  const uintptr_t end = ((uintptr_t)data + n_bytes) & ~(uintptr_t)4095;
  madvise((void*)begin, end - begin, MADV_HUGEPAGE);
#endif
}
"""

LANES = """\
template <int N> struct lanes_t { static constexpr int n = N; };
"""

BUILD = '''\
FLAGS = ["-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math"]
if platform.machine() in ("x86_64", "AMD64"):
    FLAGS.append("-mprefer-vector-width=512")


def _build(source):
    """Compile ``source`` once per machine, compiler and flags; later calls find the file."""
    compiler = os.environ.get("CXX", "g++")
    key = "\\n".join([source, platform.platform(), compiler, *FLAGS])
    folder = os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.gettempdir()
    path = os.path.join(folder, f"kernels_{hashlib.sha256(key.encode()).hexdigest()[:24]}.so")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            text, built = os.path.join(scratch, "kernels.cpp"), os.path.join(scratch, "kernels.so")
            with open(text, "w") as file:
                file.write(source)
            command = [compiler, *FLAGS, text, "-o", built]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{compiler} failed:\\n{done.stderr}")
            os.replace(built, path)
    return ctypes.CDLL(path)


def _bind(name, n_pointers):
    function = getattr(_library, name)
    function.argtypes = [ctypes.c_void_p] * n_pointers
    function.restype = None
    return function


_library = _build(SOURCE)
'''
