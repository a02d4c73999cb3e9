"""The ``hip`` dialect: HIP C++ in the candidate's file, compiled at import by a ROCm torch."""

from __future__ import annotations

import ast
import re

from kernelwright.core.device import Device
from kernelwright.dialects.syntax import calls
from kernelwright.dialects.toolchain import search_path

_HIP = re.compile(r"hip/hip_runtime|\bhip[A-Z]\w+\(")


class HipDialect:
    """HIP C++ text that the candidate compiles itself, through hiprtc or load_inline."""

    name = "hip"

    def missing(self, device: Device) -> str | None:
        if device.kind != "hip":
            return f"HIP candidates need an AMD GPU, not {device}; see `kernelwright port`"
        import torch

        if torch.version.hip is None or not torch.cuda.is_available():
            return (
                f"torch {torch.__version__} sees no AMD GPU; install the driver and a ROCm build "
                "of torch (https://pytorch.org/get-started)"
            )
        return None

    def is_timed(self, device: Device) -> bool:
        return True

    def environment(self, device: Device) -> dict[str, str]:
        """Return PATH, because load_inline calls hipcc and a C++ compiler."""
        return {"PATH": search_path()}

    def recognises(self, tree: ast.Module) -> bool:
        """Return whether a file's strings hold HIP text, or the file calls HIP's runtime
        compiler."""
        return "hiprtcCompileProgram" in calls(tree) or any(
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _HIP.search(node.value) is not None
            for node in ast.walk(tree)
        )
