"""Whether the rules have kernels for all sizes that a task asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernelwright.compiler.capture.capture import CannotCapture
from kernelwright.compiler.capture.free import tensors_in, why_fixed
from kernelwright.compiler.fuse.flow import Unsupported
from kernelwright.compiler.ir.ir import Program
from kernelwright.compiler.ir.sizes import fixed, with_example
from kernelwright.core.candidate import Brief
from kernelwright.proposers.rules.proposer import OpenedTask, emitters


def why_unserved(brief: Brief, sets: Sequence[Sequence[Any]]) -> str:
    """Return why no kernel of the rules serves all these sets of arguments; empty where one does.

    A module that the rules cannot capture at all is left to the search, which says so.

    Raises:
        TaskError: the task cannot be opened.
    """
    try:
        opened = OpenedTask(brief)
    except CannotCapture:
        return ""
    programs = list(_free_programs(opened))
    if any(all(serves(program, inputs) for inputs in sets) for program in programs):
        return ""
    if not programs:
        part = opened.parts[0]
        if part.path:
            return "only parts of the module can be captured, whose sizes are fixed"
        return why_fixed(opened.module, opened.reference.blank_inputs(), part.captured)
    ranges = [
        f"{size.name} from {size.least} to {size.most or 'any size'}"
        for size in max((program.sizes for program in programs), key=len)
    ]
    return f"the sizes that can be free are {', '.join(ranges)}"


def _free_programs(opened: OpenedTask) -> Iterator[Program]:
    for emitter in emitters(opened.brief):
        for variant in opened.variants:
            try:
                program = opened.free_program(variant, emitter)
            except Unsupported:
                continue
            if program is not None:
                yield program


def serves(program: Program, inputs: Sequence[Any]) -> bool:
    """Whether kernels of a program take tensors of the sizes of these arguments."""
    given = [tuple(tensor.shape) for tensor in tensors_in(inputs)]
    names = [tensor.name for tensor in program.inputs]
    if list(map(len, given)) != [len(tensor.shape) for tensor in program.inputs]:
        return False
    sizes = {size.name: given[names.index(size.tensor)][size.dim] for size in program.sizes}
    wanted = fixed(with_example([tensor.shape for tensor in program.inputs], sizes))
    return given == [tuple(shape) for shape in wanted] and all(
        size.least <= sizes[size.name] and (size.most is None or sizes[size.name] <= size.most)
        for size in program.sizes
    )
