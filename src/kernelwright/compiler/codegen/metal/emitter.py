"""The Metal emitter: loop nests and contractions become MSL text that torch compiles when the file
is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.codegen.cuda.ops import Language
from kernelwright.compiler.codegen.gpu.axes import is_thin
from kernelwright.compiler.codegen.gpu.launch import Launched, Own
from kernelwright.compiler.codegen.gpu.schedule import Knobs
from kernelwright.compiler.codegen.metal.attention import (
    attention_choices,
    attention_neighbours,
    emit_attention,
)
from kernelwright.compiler.codegen.metal.attention import supports as supports_attention
from kernelwright.compiler.codegen.metal.language import METAL
from kernelwright.compiler.codegen.metal.product import (
    emit_product,
    product_choices,
    product_neighbours,
)
from kernelwright.compiler.ir.ir import Attention, Contraction, Kernel, Scan, Step

MOST_THREADS = 512
"""Threads of a threadgroup: a kernel that needs many registers may not have 1,024."""
_LOADER = '''\
def aligned(tensor):
    """The tensor, or one like it in a copy of its memory if wide loads would not be aligned."""
    if tensor.storage_offset() * tensor.element_size() % 16 == 0:
        return tensor
    n_spanned = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    own = tensor.as_strided((n_spanned,), (1,)).clone()
    return own.as_strided(tensor.shape, tensor.stride())


'''


class MetalEmitter(CudaEmitter):
    """The emitter of the Metal Shading Language for Apple GPUs.

    Scans, recurrences, and what is computed in float64 stay with PyTorch.
    """

    dialect = "metal"
    language: ClassVar[Language] = METAL
    can_graph = False
    imports = ("import torch",)

    def supports(self, step: Step) -> bool:
        if isinstance(step, Attention):
            return supports_attention(step)
        if isinstance(step, Contraction):
            known = (t.dtype in self.language.types for t in (*step.reads, *step.writes))
            is_pointwise = not (step.part_totals or step.folds)
            return step.is_plain and is_pointwise and all(known)
        if not isinstance(step, Kernel) or any(isinstance(op, Scan) for op in step.body):
            return False
        return super().supports(step)

    def definitions(self, source: str, names: list[str]) -> str:
        loader = f'SOURCE = r"""\n{source}"""\n\n\n{_LOADER}'
        return f"{loader}KERNELS = torch.mps.compile_shader(SOURCE)\n"

    def choices(self, step: Own) -> list[Knobs]:
        if isinstance(step, Attention):
            return attention_choices(step)
        if isinstance(step, Contraction) and (step.stretches or not is_thin(step)):
            return product_choices(step)
        return [knobs for knobs in super().choices(step) if _fits(knobs)]

    def neighbours(self, step: Own, knobs: Knobs) -> Iterator[Knobs]:
        if isinstance(step, Attention):
            return attention_neighbours(step, knobs)
        if isinstance(step, Contraction) and "threads" not in knobs:
            return product_neighbours(knobs)
        return filter(_fits, super().neighbours(step, knobs))

    def piece(self, piece: Own, knobs: Knobs) -> Launched:
        if isinstance(piece, Attention):
            return emit_attention(piece, knobs)
        if isinstance(piece, Contraction):
            return emit_product(piece, knobs)
        return super().piece(piece, knobs)


def _fits(knobs: Knobs) -> bool:
    """Return whether a threadgroup is small enough, waits for no other one, and asks for nothing
    ahead of reading it."""
    if knobs.get("together") or knobs.get("ahead"):
        return False
    size: int = knobs["threads"] * knobs.get("rows", 1)
    return size <= MOST_THREADS
