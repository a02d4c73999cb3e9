"""Steps that are whole operators instead of loop nests, and the replacement of their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from kernelwright.compiler.ir.ir import Attention, Call, Kernel, Program, Recurrence, Step, Tensor
from kernelwright.compiler.ir.steps import variable

Whole = TypeVar("Whole", Recurrence, Attention)
Own = Kernel | Recurrence | Attention


def own_calls(
    program: Program, made_of: Callable[[Call, dict[str, Tensor]], Sequence[Own]]
) -> Program:
    """Return ``program`` with calls replaced by the own steps that ``made_of`` returns for them, if
    it returns any.

    ``made_of`` is given the call and the tensors that exist by then, by name.
    """
    tensors = {t.name: t for t in (*program.inputs, *(t for t, _ in program.attributes))}
    taken = {step.name for step in program.own()}
    steps: list[Step] = []
    for step in program.steps:
        made = step.outputs if isinstance(step, Call) else step.writes
        tensors |= {tensor.name: tensor for tensor in made}
        own = made_of(step, tensors) if isinstance(step, Call) else ()
        steps += [replace(each, name=variable(each.name, taken)) for each in own] or [step]
    return replace(program, steps=tuple(steps))


def with_tensors(step: Whole, change: Callable[[Tensor], Tensor], name: str | None = None) -> Whole:
    """Return ``step`` with every tensor changed, and renamed."""
    name = name or step.name
    if isinstance(step, Attention):
        q, k, v, result = map(change, (step.q, step.k, step.v, step.result))
        mask, spans = step.mask and change(step.mask), tuple(map(change, step.spans))
        return replace(step, name=name, q=q, k=k, v=v, result=result, mask=mask, spans=spans)
    return replace(
        step,
        name=name,
        x=change(step.x),
        states=tuple(map(change, step.states)),
        weights=tuple(map(change, step.weights)),
        results=tuple(map(change, step.results)),
    )
