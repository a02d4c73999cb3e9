"""Emitted CUDA files with their GPU replaced: g++ compiles the kernels, fibers run the threads."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from pathlib import Path

HEADER = Path(__file__).with_name("simt.h")
_LOADER = re.compile(r"class Kernels:.*?\n\n\n(?=def aligned)", re.DOTALL)
_SIGNATURE = re.compile(r'extern "C" __global__ void .*\n(\w+)\((.*?)\) \{')
_PTX = {  # the instructions that emitted text writes in assembly
    'asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"\n'
    '                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from) : "memory");': (
        "v = from_memory(from);"
    ),
    "do y = *(volatile float*)(place + other); while": (
        "do y = from_memory(place + other).x; while"
    ),
    'asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));': "y = from_half(x.bits);",
    'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(y));': "x.bits = to_half(y);",
}


class Kernels:
    """The kernels of a CUDA C++ text, compiled for the CPU."""

    def __init__(self, source: str, names: list[str]) -> None:
        for instruction, text in _PTX.items():
            source = source.replace(instruction, text)
        signatures = _SIGNATURE.findall(source)
        assert [name for name, _ in signatures] == names
        entries = "".join(_entry(name, parameters) for name, parameters in signatures)
        flags = ["-O0", "-std=c++17", "-mf16c", "-shared", "-fPIC", "-pthread", "-w"]
        flags += ["-ffp-contract=off"]
        with tempfile.TemporaryDirectory(prefix="simt-") as folder:
            text, library = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
            text.write_text(f'#include "{HEADER}"\n{source}\n{entries}')
            subprocess.run(["g++", *flags, str(text), "-o", str(library)], check=True)
            self._library = ctypes.CDLL(str(library))

    def launch(self, name, blocks, threads, *given, together=False):
        values = (x if isinstance(x, int) else x.data_ptr() for x in given)
        pointers = (ctypes.c_void_p * len(given))(*values)
        getattr(self._library, f"run_{name}")(blocks, *threads, together, pointers)


def _entry(name: str, parameters: str) -> str:
    types = [re.sub(r"( __restrict__)? \w+$", "", p) for p in parameters.split(", ")]
    texts = [f"({kind})" if "*" in kind else f"({kind})(intptr_t)" for kind in types]
    arguments = ", ".join(f"{text}a[{i}]" for i, text in enumerate(texts))
    return (
        f"static void call_{name}(void** a) {{ {name}({arguments}); }}\n"
        f'extern "C" void run_{name}(int blocks, int x, int y, int together, void** a) '
        f"{{ simt::run(blocks, x, y, together, call_{name}, a); }}\n"
    )


def on_cpu(text: str) -> str:
    """An emitted module that runs here: only its loader is another one."""
    assert _LOADER.search(text)
    return _LOADER.sub("from simt import Kernels\n\n\n", text)
