"""The ``cpp`` dialect: C++17 with OpenMP inside the candidate's file, run on the CPU."""

from __future__ import annotations

import ast

from kernelwright.core.device import Device
from kernelwright.dialects.cuda import CudaDialect
from kernelwright.dialects.syntax import calls, imports
from kernelwright.dialects.toolchain import compiler_missing, find_compiler, search_path


class CppDialect:
    """C++ text compiled when the candidate is constructed, loaded with ctypes or load_inline."""

    name = "cpp"

    def missing(self, device: Device) -> str | None:
        if device.kind != "cpu":
            return f"C++ candidates run on the CPU, not on {device}; use --device cpu"
        return compiler_missing()

    def is_timed(self, device: Device) -> bool:
        return True

    def environment(self, device: Device) -> dict[str, str]:
        compiler = find_compiler()
        chosen = {"CXX": compiler.path} if compiler else {}
        return {"PATH": search_path(), **chosen}

    def recognises(self, tree: ast.Module) -> bool:
        """Return whether a file builds C++ (load_inline, load, or a compiler that is called, and
        ctypes).

        Not covered: C++ that comes with CUDA sources; that is the ``cuda`` dialect.
        """
        if "triton" in imports(tree) or CudaDialect().recognises(tree):
            return False
        called = calls(tree)
        if called & {"load_inline", "load"} and "torch.utils.cpp_extension" in imports(tree):
            return True
        return bool(called & {"CDLL", "LoadLibrary"})
