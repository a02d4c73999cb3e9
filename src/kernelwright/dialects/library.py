"""The ``torch`` dialect: a file that only calls the library."""

from __future__ import annotations

import ast

from kernelwright.core.device import Device
from kernelwright.dialects.syntax import calls, imports
from kernelwright.dialects.toolchain import search_path

BUILDERS = frozenset(
    {"load_inline", "CDLL", "LoadLibrary", "_compile_kernel", "RawKernel", "compile_shader"}
)
"""Calls that bring device code of a file's own: torch.utils.cpp_extension, ctypes, torch.cuda,
CuPy, torch.mps."""


class TorchDialect:
    """Python over torch, torch.compile included; runs wherever torch runs."""

    name = "torch"

    def missing(self, device: Device) -> str | None:
        import torch

        present = {
            "cpu": lambda: True,
            "cuda": torch.cuda.is_available,
            "hip": lambda: torch.version.hip is not None and torch.cuda.is_available(),
            "metal": torch.backends.mps.is_available,
        }
        if present[device.kind]():
            return None
        return (
            f"torch {torch.__version__} sees no {device.kind} device; "
            "install the driver and the build of torch for it (https://pytorch.org/get-started)"
        )

    def is_timed(self, device: Device) -> bool:
        return True

    def environment(self, device: Device) -> dict[str, str]:
        """Return PATH, because torch.compile calls a C++ compiler on the CPU and Triton on a
        GPU."""
        return {"PATH": search_path()}

    def recognises(self, tree: ast.Module) -> bool:
        """Return whether a file imports torch and has no device code of its own."""
        used = imports(tree)
        return "torch" in used and "triton" not in used and not calls(tree) & BUILDERS
