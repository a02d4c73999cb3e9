"""Names that a reader expects: conv_weight for self.conv.weight, the forward's own arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelwright.compiler.ir.ir import (
    Attention,
    Call,
    Contraction,
    Kernel,
    Op,
    Program,
    Recurrence,
    Ref,
    Step,
    Tensor,
)
from kernelwright.compiler.ir.ops import with_tensors_named
from kernelwright.compiler.ir.sizes import NAMES
from kernelwright.compiler.ir.steps import variable
from kernelwright.compiler.ir.whole import with_tensors

_TAKEN = frozenset({
    "self", "torch", "nn", "F", "math", "np", "os", "ctypes", "hashlib", "tempfile", "subprocess",
    "triton", "tl", "mmap", "sys", "threading", "functools",
    "operator", "types", "kernels", "ctx",
    "platform", "SOURCE", "EXPECTED", "input", "type", "len", "all", "zip", "args", *NAMES,
})  # fmt: skip


def renamed(program: Program, arguments: tuple[str, ...], used: set[str]) -> Program:
    """``program`` with its inputs under the names of ``arguments`` and readable names elsewhere.

    Tensors and steps get names that are not in ``used``, and are added there.
    """
    steps = {step.name: variable(step.name, used) for step in program.own()}
    used |= _TAKEN
    taken = used
    names = {t.name: argument for t, argument in zip(program.inputs, arguments, strict=True)}
    taken.update(arguments)
    for tensor, path in program.attributes:
        names[tensor.name] = variable(path.replace(".", "_"), taken)
    for step in program.steps:
        for tensor in step.outputs if isinstance(step, Call) else step.writes:
            if tensor.name not in names:
                names[tensor.name] = variable(tensor.name.lstrip("_"), taken)

    def tensor_(tensor: Tensor) -> Tensor:
        return replace(tensor, name=names[tensor.name])

    return replace(
        program,
        inputs=tuple(map(tensor_, program.inputs)),
        attributes=tuple((tensor_(tensor), path) for tensor, path in program.attributes),
        steps=tuple(_step(step, names, steps) for step in program.steps),
        outputs=_structure(program.outputs, names),
        checks=tuple(names[name] for name in program.checks),
        mutations=tuple((names[name], path) for name, path in program.mutations),
    )


def _step(step: Step, names: dict[str, str], steps: dict[str, str]) -> Step:
    match step:
        case Call():
            outputs = tuple(replace(t, name=names[t.name]) for t in step.outputs)
            kwargs = tuple((key, _structure(value, names)) for key, value in step.kwargs)
            return replace(step, args=_structure(step.args, names), kwargs=kwargs, outputs=outputs)
        case Kernel() | Contraction():
            named = with_tensors_named(
                step, lambda tensor: replace(tensor, name=names[tensor.name])
            )
            return replace(named, name=steps[step.name])
        case Recurrence() | Attention():
            return with_tensors(
                step, lambda tensor: replace(tensor, name=names[tensor.name]), steps[step.name]
            )


def _structure(structure: Any, names: dict[str, str]) -> Any:
    match structure:
        case Ref(name):
            return Ref(names[name])
        case list():
            return [_structure(part, names) for part in structure]
        case tuple():
            return tuple(_structure(part, names) for part in structure)
        case dict():
            return {key: _structure(part, names) for key, part in structure.items()}
    return structure


__all__ = ["Op", "renamed"]
