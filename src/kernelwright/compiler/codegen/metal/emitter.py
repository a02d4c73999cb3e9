"""The Metal emitter: loop nests become MSL text that torch compiles when the file is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.codegen.cuda.ops import Language
from kernelwright.compiler.codegen.gpu.launch import Own
from kernelwright.compiler.codegen.gpu.schedule import Knobs
from kernelwright.compiler.codegen.metal.language import METAL
from kernelwright.compiler.ir.ir import Contraction, Kernel, Scan, Step

MOST_THREADS = 512
"""Threads of a threadgroup: a kernel that needs many registers may not have 1,024."""
_LOADER = '''\
def aligned(tensor):
    """The tensor, or a copy of it if wide loads would not be aligned."""
    offset_bytes = tensor.storage_offset() * tensor.element_size()
    return tensor if offset_bytes % 16 == 0 else tensor.clone()


'''


class MetalEmitter(CudaEmitter):
    """The emitter of the Metal Shading Language for Apple GPUs.

    Scans, recurrences, bfloat16 and contractions other than a matrix times a vector stay with
    PyTorch.
    """

    dialect = "metal"
    language: ClassVar[Language] = METAL
    can_graph = False
    imports = ("import torch",)

    def supports(self, step: Step) -> bool:
        if not isinstance(step, (Kernel, Contraction)):
            return False
        has_scan = isinstance(step, Kernel) and any(isinstance(op, Scan) for op in step.body)
        return not has_scan and super().supports(step)

    def definitions(self, source: str, names: list[str]) -> str:
        loader = f'SOURCE = r"""\n{source}"""\n\n\n{_LOADER}'
        return f"{loader}KERNELS = torch.mps.compile_shader(SOURCE)\n"

    def choices(self, step: Own) -> list[Knobs]:
        return [knobs for knobs in super().choices(step) if _fits(knobs)]

    def neighbours(self, step: Own, knobs: Knobs) -> Iterator[Knobs]:
        return filter(_fits, super().neighbours(step, knobs))


def _fits(knobs: Knobs) -> bool:
    """Return whether a threadgroup is small enough, waits for no other one, and asks for nothing
    ahead of reading it."""
    if knobs.get("together") or knobs.get("ahead"):
        return False
    size: int = knobs["threads"] * knobs.get("rows", 1)
    return size <= MOST_THREADS
