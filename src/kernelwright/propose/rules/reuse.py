"""Writing in place: a kernel's output takes the memory of an input that nobody needs afterwards.

Fresh memory is dear: its pages are faulted in one by one on a CPU, and it evicts caches anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kernelwright.propose.rules.ir import (
    Call,
    Contraction,
    Kernel,
    Load,
    Program,
    Reduce,
    Ref,
    Scan,
    Step,
    Store,
    Tensor,
)
from kernelwright.propose.rules.prepared import made, prepared_steps
from kernelwright.propose.rules.steps import references
from kernelwright.propose.rules.tidy import uses

FRESH = frozenset({
    "linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "scaled_dot_product_attention",
})  # fmt: skip
"""Calls whose result is a new tensor that nothing else refers to."""


def reuse_memory(program: Program) -> Program:
    """``program`` with kernels that overwrite what only they still read."""
    program = update_buffers(program)
    steps = list(program.steps)
    for position, step in enumerate(steps):
        if not isinstance(step, Kernel):
            continue
        for old, new in _pairs(program, steps, position):
            steps = [_replaced(s, new.name, old) for s in steps]
            program = replace(program, outputs=_structure(program.outputs, new.name, old.name))
            program = replace(program, mutations=tuple(
                (old.name if name == new.name else name, path) for name, path in program.mutations
            ))  # fmt: skip
            break
    return replace(program, steps=tuple(steps))


def update_buffers(program: Program) -> Program:
    """``program`` with kernels that write new buffer values where the old ones are.

    Only where the same kernel is the only reader of the old value.
    """
    paths = {path: tensor for tensor, path in program.attributes}
    steps = list(program.steps)
    for name, path in program.mutations:
        old = paths[path]
        readers = [step for step in steps if old.name in _needs(step)]
        for step in steps:
            stores = [op for op in _stores(step) if op.tensor.name == name]
            users = [s for s in steps if s is not step and name in _needs(s)]
            is_own = readers == [step] and not users and name not in references(program.outputs)
            if stores and is_own and isinstance(step, Kernel) and _fits(step, old, stores[0]):
                steps[steps.index(step)] = _replaced(step, name, old)
                kept = tuple(pair for pair in program.mutations if pair != (name, path))
                program = replace(program, mutations=kept)
            elif is_own and _is_sum_with_number(step, old, name):
                steps[steps.index(step)] = Call("torch.ops.aten.add_.Tensor", step.args)
                kept = tuple(pair for pair in program.mutations if pair != (name, path))
                program = replace(program, mutations=kept)
    return replace(program, steps=tuple(steps))


def _is_sum_with_number(step: Step, old: Tensor, name: str) -> bool:
    """``name = old + 1``: how BatchNorm counts its batches."""
    return (
        isinstance(step, Call)
        and step.target == "torch.ops.aten.add.Tensor"
        and step.args[0] == Ref(old.name)
        and [tensor.name for tensor in step.outputs] == [name]
    )


def _stores(step: Step) -> list[Store]:
    return [] if isinstance(step, Call) else [op for op in step.body if isinstance(op, Store)]


def _needs(step: Step) -> set[str]:
    if isinstance(step, Call):
        return set(references((step.args, dict(step.kwargs))))
    return {tensor.name for tensor in step.reads}


def _pairs(program: Program, steps: list[Step], position: int) -> Iterator[tuple[Tensor, Tensor]]:
    """(tensor to overwrite, tensor to write) for the kernel at ``position``."""
    kernel = steps[position]
    assert isinstance(kernel, Kernel)
    free = {t.name for step in steps[:position] for t in _fresh_outputs(step)}
    free -= {
        name for step in prepared_steps(replace(program, steps=tuple(steps))) for name in made(step)
    }
    free -= set(references(program.outputs)) | {name for name, _ in program.mutations}
    for other in steps[:position] + steps[position + 1 :]:
        free -= _needs(other)
    for old in kernel.reads:
        for store in kernel.body:
            if isinstance(store, Store) and old.name in free and _fits(kernel, old, store):
                yield old, store.tensor


def _fresh_outputs(step: Step) -> tuple[Tensor, ...]:
    if not isinstance(step, Call):
        return step.writes
    name = step.target.removeprefix("torch.ops.aten.").partition(".")[0]
    return step.outputs if name in FRESH else ()


def _fits(kernel: Kernel, old: Tensor, store: Store) -> bool:
    """Same memory, each element read only where it is written, and written in the last pass."""
    new = store.tensor
    if (old.shape, old.strides, old.dtype) != (new.shape, new.strides, new.dtype):
        return False
    loads = [op for op in kernel.body if isinstance(op, Load) and op.tensor == old]
    same = all(not op.bounds and not op.gather and op.index == store.index for op in loads)
    return same and _is_last(kernel, store)


def _is_last(kernel: Kernel, store: Store) -> bool:
    """Whether the stored value waits for every reduction, so that no later pass reads again."""
    passes = {op.name for op in kernel.body if isinstance(op, (Reduce, Scan))}
    by_name = {op.name: op for op in kernel.body if not isinstance(op, Store)}
    found: set[str] = set()
    stack = [store.value]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(uses(by_name[name]))
    return passes <= found


def _replaced(step: Step, name: str, tensor: Tensor) -> Step:
    """``step`` with ``tensor`` in place of the tensor called ``name``."""
    if isinstance(step, Call):
        args = _structure(step.args, name, tensor.name)
        kwargs = tuple((k, _structure(v, name, tensor.name)) for k, v in step.kwargs)
        return replace(step, args=args, kwargs=kwargs)

    def op_(op: Any) -> Any:
        if isinstance(op, (Load, Store)) and op.tensor.name == name:
            return replace(op, tensor=tensor)
        return op

    body = tuple(map(op_, step.body))
    if isinstance(step, Contraction):
        return replace(step, a=op_(step.a), b=op_(step.b), body=body)
    return replace(step, body=body)


def _structure(structure: Any, name: str, new: str) -> Any:
    match structure:
        case Ref() if structure.name == name:
            return Ref(new)
        case list():
            return [_structure(part, name, new) for part in structure]
        case tuple():
            return tuple(_structure(part, name, new) for part in structure)
        case dict():
            return {key: _structure(part, name, new) for key, part in structure.items()}
    return structure
