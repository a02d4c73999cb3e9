"""The ``cuda`` dialect: CUDA C++ inside the candidate's file, compiled at import by NVRTC."""

from __future__ import annotations

import ast
import ctypes

from kernelwright.core.device import Device
from kernelwright.dialects.syntax import calls, imports, keywords
from kernelwright.dialects.toolchain import search_path


class CudaDialect:
    """CUDA C++ text that the candidate compiles itself.

    Emitted candidates use NVRTC, which comes with torch's CUDA wheels; other candidates may need
    nvcc (load_inline) and say so when they fail to build.
    """

    name = "cuda"

    def missing(self, device: Device) -> str | None:
        if device.kind != "cuda":
            return f"CUDA candidates need an NVIDIA GPU, not {device}; use --device cuda"
        import torch

        if torch.version.cuda is None or not torch.cuda.is_available():
            return (
                f"torch {torch.__version__} sees no NVIDIA GPU; install the driver and a CUDA "
                "build of torch (https://pytorch.org/get-started)"
            )
        library = f"libnvrtc.so.{torch.version.cuda.split('.')[0]}"
        try:
            ctypes.CDLL(library)
        except OSError:
            return f"{library} cannot be loaded; reinstall the CUDA build of torch, it brings NVRTC"
        return None

    def is_timed(self, device: Device) -> bool:
        return True

    def environment(self, device: Device) -> dict[str, str]:
        """Return PATH, because load_inline calls nvcc and a C++ compiler."""
        return {"PATH": search_path()}

    def recognises(self, tree: ast.Module) -> bool:
        """Return whether a file has CUDA text: load_inline with cuda_sources, load with .cu files,
        NVRTC through torch or CuPy."""
        if "triton" in imports(tree):
            return False
        if "cuda_sources" in keywords(tree):
            return True
        if calls(tree) & {"_compile_kernel", "RawKernel", "RawModule", "nvrtcCompileProgram"}:
            return True
        return "load" in calls(tree) and any(
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.endswith(".cu")
            for node in ast.walk(tree)
        )
