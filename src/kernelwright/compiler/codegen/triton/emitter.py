"""The Triton emitter: loop nests and contractions become ``@triton.jit`` kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import partial

from kernelwright.compiler.codegen.base import Emitted, Schedule, Target
from kernelwright.compiler.codegen.gpu.axes import (
    TILED,
    as_loops,
    collapse,
    inclusive,
    is_thin,
    size_of,
)
from kernelwright.compiler.codegen.gpu.launch import Launched, Own, assemble
from kernelwright.compiler.codegen.gpu.runners import around_steps, with_search
from kernelwright.compiler.codegen.gpu.schedule import (
    Knobs,
    combine,
    distinct,
    limits_of,
    neighbours,
)
from kernelwright.compiler.codegen.gpu.stages import Stages, split, split_k
from kernelwright.compiler.codegen.gpu.totals import sweep
from kernelwright.compiler.codegen.triton import attention, descriptors
from kernelwright.compiler.codegen.triton.convolution import emit_convolution
from kernelwright.compiler.codegen.triton.convolution_schedule import (
    MOST_COLUMNS,
    convolution_choices,
    convolution_neighbours,
    is_convolution,
)
from kernelwright.compiler.codegen.triton.image import image_kernels
from kernelwright.compiler.codegen.triton.kernel import emit_kernel
from kernelwright.compiler.codegen.triton.launch import LAUNCH, NAME
from kernelwright.compiler.codegen.triton.ops import TYPES, prelude
from kernelwright.compiler.codegen.triton.product import emit_product
from kernelwright.compiler.codegen.triton.product_schedule import (
    product_choices,
    product_neighbours,
)
from kernelwright.compiler.codegen.triton.scaled import split_kernels as scaled_kernels
from kernelwright.compiler.codegen.triton.schedule import kernel_choices, kernel_neighbours
from kernelwright.compiler.codegen.triton.shifted import emit_shifted, shifted_kernels
from kernelwright.compiler.codegen.triton.split import split_kernels
from kernelwright.compiler.codegen.triton.tiles import emit_tiles, tile_choices
from kernelwright.compiler.ir.ir import Attention, Contraction, Kernel, Program, Scan, Step
from kernelwright.compiler.ir.prepared import lasting
from kernelwright.compiler.ir.sizes import fixed_only

_IMPORTS = ("import torch", "import triton", "import triton.language as tl")
_LIBDEVICE = "from triton.language.extra import libdevice"
_DESCRIPTOR = "from triton.tools.tensor_descriptor import TensorDescriptor"


class TritonEmitter:
    """The emitter of Triton for NVIDIA and AMD GPUs, and on a CPU for Triton's interpreter."""

    dialect = "triton"

    def supports(self, step: Step) -> bool:
        if isinstance(step, Attention):
            return attention.supports(step)
        if not isinstance(step, (Kernel, Contraction)):
            return False
        if any(tensor.dtype not in TYPES for tensor in (*step.reads, *step.writes)):
            return False
        if isinstance(step, Contraction) and not step.is_plain:
            return {*step.operand_dtypes} <= TILED
        if isinstance(step, Contraction) and step.folds:
            return is_convolution(step) and size_of(step.n) <= MOST_COLUMNS
        if isinstance(step, Contraction):
            return is_convolution(step) or not (step.stretches or step.part_totals)
        directions = {op.reverse for op in step.body if isinstance(op, Scan)}
        return len(directions) <= 1 and (not directions or len(step.inner) == 1)

    def schedules(self, program: Program, target: Target) -> Iterator[Schedule]:
        kept = lasting(program)
        choices = partial(_choices, can_describe=_has_descriptors(target), kept=kept)
        options = combine(program, choices, can_graph=target.device != "cpu")
        options = with_search(options, program, target)
        return distinct(options, lambda schedule: self.emit(program, schedule, target))

    def refine(self, program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
        can_graph = target.device != "cpu"
        near = partial(_neighbours, can_describe=_has_descriptors(target))
        options = neighbours(program, schedule, near, can_graph=can_graph)
        return distinct(options, lambda near: self.emit(program, near, target), schedule)

    def emit(self, program: Program, schedule: Schedule, target: Target) -> Emitted:
        interpreted = target.device == "cpu"

        def piece_of(piece: Own, step: Own) -> Launched:
            return _piece(piece, schedule[step.name], interpreted=interpreted)

        parts = assemble(program, lambda step: _staged(step, schedule[step.name]), piece_of)
        splits = "".join(part.text for part in parts.derived)
        in_parts = [*split_kernels(splits, interpreted=interpreted), *scaled_kernels(splits)]
        shared = [*in_parts, *image_kernels(splits), *shifted_kernels(splits)]
        kernels = "\n\n".join([*shared, *parts.texts])
        before = prelude(kernels, interpreted=interpreted)
        launches = "".join(parts.launches.values())
        has_tiles = f"{descriptors.NAME}(" in launches
        is_described = has_tiles or "TensorDescriptor" in launches
        used = {_LIBDEVICE: "libdevice." in kernels, _DESCRIPTOR: is_described}
        imports = (*_IMPORTS, *(line for line, is_used in used.items() if is_used))
        around, runner = around_steps(schedule)
        launcher = LAUNCH if NAME in launches else ""
        tiles = descriptors.TEXT if has_tiles else ""
        parts_of_file = (before, launcher, tiles, kernels, around)
        sections = [text.strip("\n") for text in parts_of_file if text]
        text = "\n\n\n".join(sections) + "\n"
        precisions = {schedule[step.name].get("precision") for step in program.own()}
        is_rounded = "tf32" in precisions and not interpreted
        conditions = ("torch.backends.cudnn.allow_tf32",) if is_rounded else ()
        derived, limits = tuple(parts.derived), limits_of(program)
        return Emitted(imports, text, parts.launches, runner, derived, conditions, limits)


def _simplified(step: Kernel | Contraction, knobs: Knobs | None = None) -> Kernel | Contraction:
    """Return the step as it is scheduled: few axes, inclusive scans, thin products as loops. What
    is thin now may have more rows in another call: ``knobs`` tell what was chosen."""
    if isinstance(step, Contraction):
        is_loop = is_thin(step) if knobs is None else "shape" in knobs
        is_loop = is_loop and not is_convolution(step)
        return collapse(as_loops(step)) if is_loop else step
    return collapse(inclusive(step))


def _has_descriptors(target: Target) -> bool:
    """Return whether the GPU copies tiles by descriptor: NVIDIA from compute capability 9.0 on."""
    found = re.match(r"cuda:sm_(\d+)", target.device)
    return found is not None and int(found[1]) >= 90


def _choices(step: Own, *, can_describe: bool, kept: Set[str]) -> list[Knobs]:
    if isinstance(step, Attention):
        return attention.choices(step)
    simple = _simplified(step)
    if isinstance(simple, Contraction) and is_convolution(simple):
        return convolution_choices(simple, descriptors=can_describe)
    if isinstance(simple, Contraction):
        return product_choices(simple, descriptors=can_describe, kept=kept)
    return [*tile_choices(simple), *kernel_choices(simple)]


def _neighbours(step: Own, knobs: Knobs, *, can_describe: bool) -> Iterator[Knobs]:
    if isinstance(step, Attention):
        yield from attention.neighbours(step, knobs)
        return
    simple = _simplified(step)
    if isinstance(simple, Contraction) and is_convolution(simple):
        yield from convolution_neighbours(simple, knobs)
    elif isinstance(simple, Contraction):
        yield from product_neighbours(simple, knobs, descriptors=can_describe)
    else:
        yield from kernel_neighbours(simple, knobs)


def _staged(step: Own, knobs: Knobs) -> Stages:
    """Return the kernels that compute the step: one, or more if its rows or its k are cut into
    parts."""
    if isinstance(step, Attention):
        return attention.stages(step, knobs)
    simple = _simplified(step, knobs)
    parts = knobs.get("parts", 1)
    if "programs" in knobs:
        stages = sweep(simple, knobs["programs"])
    elif parts == 1:
        return Stages((simple,))
    else:
        stages = split_k(simple, parts) if isinstance(simple, Contraction) else split(simple, parts)
    steps = tuple(collapse(s) if isinstance(s, Kernel) else s for s in stages.steps)
    return Stages(steps, stages.workspace)


def _piece(piece: Own, knobs: Knobs, *, interpreted: bool) -> Launched:
    """Emit one kernel of a step. The step's knobs are for its main kernel; the small kernels that
    add up parts take their first choice."""
    if isinstance(piece, Attention):
        return attention.emit_attention(piece, knobs, interpreted=interpreted)
    if isinstance(piece, Contraction) and is_convolution(piece):
        if knobs["layout"] == "shifted":
            return emit_shifted(fixed_only(piece), knobs, interpreted=interpreted)
        return emit_convolution(piece, knobs, interpreted=interpreted)
    if isinstance(piece, Contraction):
        return emit_product(piece, knobs, interpreted=interpreted)
    is_whole = knobs.get("parts", 1) == 1 and "programs" not in knobs
    is_main = "shape" in knobs and (is_whole or "_parts" in piece.name)
    chosen = knobs if is_main else [*tile_choices(piece), *kernel_choices(piece)][0]
    if chosen["shape"] == "tiles":
        return emit_tiles(piece, chosen, interpreted=interpreted)
    return emit_kernel(piece, chosen, interpreted=interpreted)
