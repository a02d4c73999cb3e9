"""The CUDA emitter: loop nests become CUDA C++ text that NVRTC compiles when the file is
imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kernelwright.compiler.codegen.base import Emitted, Schedule, Target
from kernelwright.compiler.codegen.cuda import recurrence
from kernelwright.compiler.codegen.cuda.kernel import emit_kernel
from kernelwright.compiler.codegen.cuda.loader import IMPORTS, definitions
from kernelwright.compiler.codegen.cuda.ops import CUDA, Language
from kernelwright.compiler.codegen.cuda.schedule import kernel_choices, kernel_neighbours
from kernelwright.compiler.codegen.gpu.axes import as_loops, collapse, inclusive, is_thin
from kernelwright.compiler.codegen.gpu.launch import Launched, Own, assemble
from kernelwright.compiler.codegen.gpu.runners import around_steps, with_search
from kernelwright.compiler.codegen.gpu.schedule import (
    Knobs,
    combine,
    distinct,
    limits_of,
    neighbours,
)
from kernelwright.compiler.codegen.gpu.stages import Stages, split
from kernelwright.compiler.codegen.gpu.totals import sweep, totals
from kernelwright.compiler.ir.ir import (
    Contraction,
    Kernel,
    Program,
    Recurrence,
    Scan,
    Step,
)
from kernelwright.compiler.ir.sizes import fixed_only


class CudaEmitter:
    """The emitter of CUDA C++ for NVIDIA GPUs.

    Decaying sums, and contractions other than a matrix times a vector stay with PyTorch.
    """

    dialect = "cuda"
    language: ClassVar[Language] = CUDA
    can_graph = True
    imports: tuple[str, ...] = IMPORTS

    def supports(self, step: Step) -> bool:
        if isinstance(step, Recurrence):
            return recurrence.supports(step)
        if not isinstance(step, (Kernel, Contraction)):
            return False
        if any(tensor.dtype not in self.language.types for tensor in (*step.reads, *step.writes)):
            return False
        if isinstance(step, Contraction):
            is_loop = is_thin(step) and step.is_in_memory and not step.stretches
            return is_loop and not (step.part_totals or step.folds)
        scans = [op for op in step.body if isinstance(op, Scan)]
        if any(op.op == "decay" for op in scans):
            return False
        return not scans or (len({op.reverse for op in scans}) == 1 and len(step.inner) == 1)

    def schedules(self, program: Program, target: Target) -> Iterator[Schedule]:
        options = combine(program, self.choices, can_graph=self.can_graph)
        options = with_search(options, program, target)
        return distinct(options, lambda schedule: self.emit(program, schedule, target))

    def refine(self, program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
        options = neighbours(program, schedule, self.neighbours, can_graph=self.can_graph)
        return distinct(options, lambda near: self.emit(program, near, target), schedule)

    def emit(self, program: Program, schedule: Schedule, target: Target) -> Emitted:
        parts = assemble(
            program,
            lambda step: _staged(step, schedule[step.name]),
            lambda piece, step: self.piece(piece, schedule[step.name]),
        )
        kernels = "\n".join(parts.texts)
        text = self.definitions(f"{self.language.prelude(kernels)}\n{kernels}", parts.names)
        around, runner = around_steps(schedule)
        text = f"{text}\n\n{around}" if around else text
        return Emitted(self.imports, text, parts.launches, runner, limits=limits_of(program))

    def definitions(self, source: str, names: list[str]) -> str:
        """Return module-level text: the source, and what compiles and launches its kernels."""
        return definitions(source, names)

    def choices(self, step: Own) -> list[Knobs]:
        """Return knobs for a step, the most promising first."""
        if isinstance(step, Recurrence):
            return recurrence.choices(step)
        return kernel_choices(as_kernel(step))

    def neighbours(self, step: Own, knobs: Knobs) -> Iterator[Knobs]:
        """Yield knobs like these."""
        if isinstance(step, Recurrence):
            return recurrence.neighbours(step, knobs)
        return kernel_neighbours(as_kernel(step), knobs)

    def piece(self, piece: Own, knobs: Knobs) -> Launched:
        """Emit one kernel of a step.

        The step's knobs are for its main kernel. The small kernels that add up parts take their
        first choice, and a vector that is too wide for the main kernel is narrowed.
        """
        if isinstance(piece, Recurrence):
            return recurrence.emit_recurrence(fixed_only(piece), knobs)
        assert isinstance(piece, Kernel)
        if "programs" in knobs and totals(piece):
            return emit_kernel(piece, knobs, self.language)
        choices = kernel_choices(piece)
        is_cut = "programs" in knobs or knobs.get("parts", 1) > 1
        if is_cut and "_parts" not in piece.name:
            return emit_kernel(piece, choices[0], self.language)
        if knobs.get("parts", 1) > 1 and knobs.get("vector", 1) > 1:
            widest = max(option.get("vector", 1) for option in choices)
            knobs = {**knobs, "vector": min(knobs["vector"], widest)}
        return emit_kernel(piece, knobs, self.language)


def _staged(step: Own, knobs: Knobs) -> Stages:
    """Return the kernels that compute the step: one, or more if its rows are cut into parts. Only
    the knobs of loop nests have threads."""
    if "threads" not in knobs:
        return Stages((step,))
    simple = as_kernel(step)
    if "programs" in knobs:
        stages = sweep(simple, knobs["programs"])
    elif (parts := knobs.get("parts", 1)) > 1:
        stages = split(simple, parts)
    else:
        return Stages((simple,))
    return Stages(tuple(collapse(k) for k in stages.steps), stages.workspace)


def as_kernel(step: Own) -> Kernel:
    """Return the step as it is scheduled: few axes, inclusive scans, products as loops."""
    assert isinstance(step, (Kernel, Contraction))
    kernel = as_loops(step) if isinstance(step, Contraction) else inclusive(step)
    return collapse(kernel)
