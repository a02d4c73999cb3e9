"""Building and running emitted C++ inside a test."""

from __future__ import annotations

import torch

from kernelwright.compiler.codegen.base import Schedule, Target
from kernelwright.compiler.codegen.cpp.emitter import CppEmitter
from kernelwright.compiler.ir.ir import Contraction, Kernel, Program

TARGET = Target("cpu", 2)


def run_emitted(
    steps: list[Kernel | Contraction], schedule: Schedule, memory: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """``memory`` with what the emitted code for ``steps`` adds to it."""
    given = tuple(t for step in steps for t in step.reads if t.name in memory)
    program = Program(tuple(dict.fromkeys(given)), (), tuple(steps), None)
    emitted = CppEmitter().emit(program, schedule, TARGET)
    module: dict[str, object] = {}
    exec("\n".join([*emitted.imports, emitted.definitions]), module)
    variables = dict(memory)
    for step in steps:
        exec(emitted.launches[step.name], module, variables)
    return variables
