"""The ``metal`` dialect: Metal Shading Language that torch compiles, on Apple GPUs.

Where there is no Mac its kernels are emulated on the CPU: checked, and not timed.
"""

from __future__ import annotations

import ast

from kernelwright.core.device import Device
from kernelwright.dialects.compile_shader import EMULATED
from kernelwright.dialects.simt.metal import msl_missing
from kernelwright.dialects.syntax import calls
from kernelwright.dialects.toolchain import search_path


class MetalDialect:
    """MSL text that the candidate compiles with ``torch.mps.compile_shader``."""

    name = "metal"

    def missing(self, device: Device) -> str | None:
        if device.kind != "metal":
            return f"Metal candidates need an Apple GPU, not {device}; use --device metal"
        return None if _is_mac() else msl_missing()

    def is_timed(self, device: Device) -> bool:
        return _is_mac()

    def environment(self, device: Device) -> dict[str, str]:
        """Return the switch to the emulation where there is no Mac, and PATH for its compiler."""
        if device.kind == "metal" and not _is_mac():
            return {"PATH": search_path(), EMULATED: "1"}
        return {}

    def recognises(self, tree: ast.Module) -> bool:
        """Return whether a file calls ``compile_shader``."""
        return "compile_shader" in calls(tree)


def _is_mac() -> bool:
    import torch

    return torch.backends.mps.is_available()
