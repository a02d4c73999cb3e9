"""The ``triton`` dialect: kernels in Triton, on a GPU, or on the CPU through its interpreter."""

from __future__ import annotations

import ast
import importlib.util

from kernelwright.core.device import Device
from kernelwright.dialects.syntax import imports
from kernelwright.dialects.toolchain import search_path


class TritonDialect:
    """``@triton.jit`` functions launched from PyTorch.

    On the CPU, Triton's interpreter runs them, one Python operation at a time: it checks values and
    says nothing about speed.
    """

    name = "triton"

    def missing(self, device: Device) -> str | None:
        if importlib.util.find_spec("triton") is None:
            return "the triton package is not installed; run: pip install 'triton>=3.6' (Linux)"
        if device.kind == "cpu":
            return None
        import torch

        if device.kind == "metal":
            return f"Triton has no backend for {device}; use --dialect torch"
        if not torch.cuda.is_available():
            return (
                f"torch {torch.__version__} sees no GPU for {device}; install the driver and the "
                "build of torch for it, or use --device cpu for Triton's interpreter"
            )
        return None

    def is_timed(self, device: Device) -> bool:
        return device.kind != "cpu"

    def environment(self, device: Device) -> dict[str, str]:
        """Return the switch to the interpreter on the CPU; on a GPU PATH, since Triton builds its
        launcher with a C compiler."""
        if device.kind == "cpu":
            return {"TRITON_INTERPRET": "1"}
        return {"PATH": search_path()}

    def recognises(self, tree: ast.Module) -> bool:
        return "triton" in imports(tree)


def launches(tree: ast.Module) -> bool:
    """Return whether a file names one of its kernels outside of kernels, as it must to launch
    it."""
    kernels = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(map(_makes_a_kernel, node.decorator_list))
    ]
    within = {id(node) for kernel in kernels for node in ast.walk(kernel)}
    names = {kernel.name for kernel in kernels}
    return any(
        isinstance(node, ast.Name) and node.id in names and id(node) not in within
        for node in ast.walk(tree)
    )


def _makes_a_kernel(decorator: ast.expr) -> bool:
    while isinstance(decorator, ast.Call):
        decorator = decorator.func
    return "jit" in (getattr(decorator, "attr", ""), getattr(decorator, "id", ""))
