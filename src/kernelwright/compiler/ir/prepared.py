"""Steps that depend on parameters alone: they run once, and again when a parameter changes.

Not covered: a change that bypasses torch's version counter (``parameter.data.copy_(...)``) is not
noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

import torch

from kernelwright.compiler.ir.ir import Call, Program, Step
from kernelwright.compiler.ir.steps import references

_UNCOUNTED = ("running_mean", "running_var")
"""Buffers that torch's batch norms change without counting it as a change."""
_RANDOM = ("dropout", "bernoulli", "rand", "multinomial", "normal")


def needs(step: Step) -> set[str]:
    """Return the names of the tensors that a step reads or writes."""
    if isinstance(step, Call):
        return set(references((step.args, dict(step.kwargs))))
    return {tensor.name for tensor in (*step.reads, *step.writes)}


def made(step: Step) -> list[str]:
    """Return the names of the tensors that a step computes."""
    return [t.name for t in (step.outputs if isinstance(step, Call) else step.writes)]


def prepared_steps(program: Program) -> list[Step]:
    """Return the steps that need only attributes which forward does not change, but for those whose
    results the caller gets: it may write to them."""
    return _prepared(program)[0]


def lasting(program: Program) -> set[str]:
    """Return the tensors that stay the same from call to call until a parameter changes."""
    return _prepared(program)[1] - overwritten(program)


def overwritten(program: Program) -> set[str]:
    """Return the tensors that a step changes although no step of the program created them."""
    return set().union(*_overwritten_by_step(program))


def _overwritten_by_step(program: Program) -> list[set[str]]:
    seen = {t.name for t in (*program.inputs, *(t for t, _ in program.attributes))}
    changes: list[set[str]] = []
    for step in program.steps:
        changes.append(_overwritten(step, seen))
        seen |= set(made(step))
    return changes


def _prepared(program: Program) -> tuple[list[Step], set[str]]:
    changes = _overwritten_by_step(program)
    changed = {path for _, path in program.mutations}
    known = {
        tensor.name
        for tensor, path in program.attributes
        if path not in changed and path.rpartition(".")[2] not in _UNCOUNTED
    }
    known -= set().union(*changes)
    returned = _returned(program)
    found: list[Step] = []
    for position, step in enumerate(program.steps):
        inputs = needs(step) if isinstance(step, Call) else {t.name for t in step.reads}
        is_random = isinstance(step, Call) and any(word in step.target for word in _RANDOM)
        is_fresh = made(step) and not changes[position] and returned.isdisjoint(made(step))
        if inputs and inputs <= known and is_fresh and not is_random:
            found.append(step)
            known |= set(made(step))
    return found, known


def _returned(program: Program) -> set[str]:
    """Return the tensors that the caller gets, and those that it gets views of."""
    found = set(references(program.outputs))
    for step in reversed(program.steps):
        if isinstance(step, Call) and _is_view(step) and not found.isdisjoint(made(step)):
            found |= needs(step)
    return found


def _is_view(call: Call) -> bool:
    """Return whether results may lie in an argument's memory, as far as torch says."""
    target = attrgetter(call.target.removeprefix("torch."))(torch)
    schema = getattr(target, "_schema", None)
    return schema is None or any(result.alias_info for result in schema.returns)


def _overwritten(step: Step, seen: set[str]) -> set[str]:
    """Return the tensors that a step changes although it did not create them."""
    if isinstance(step, Call):
        return needs(step) if not step.outputs else set()
    return set(made(step)) & seen


def handed_on(program: Program, prepared: Iterable[Step]) -> list[str]:
    """Return the prepared tensors that other steps, or the caller, use."""
    steps = list(prepared)
    names = [name for step in steps for name in made(step)]
    used = (set(references(program.outputs)) | set(program.checks)).union(
        *(needs(step) for step in program.steps if step not in steps)
    )
    return [name for name in names if name in used]


def leaves_nothing(program: Program) -> bool:
    """Return whether a run whose results nobody sees changes nothing: no buffer, and no generator
    of random numbers."""
    called = [step.target for step in program.steps if isinstance(step, Call)]
    held = {tensor.name for tensor, _ in program.attributes}
    changes = any(word in name for name in called for word in (*_RANDOM, "norm"))
    return not (changes or program.mutations or overwritten(program) & held)
