"""Writing in place: a kernel's output reuses the memory of an input that is not needed afterwards.

Fresh memory is expensive: its pages are faulted in one by one on a CPU, and it evicts caches on any
device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from kernelwright.compiler.ir.ir import (
    Attention,
    Call,
    Kernel,
    Load,
    Program,
    Recurrence,
    Reduce,
    Ref,
    Scan,
    Step,
    Store,
    Tensor,
    Total,
)
from kernelwright.compiler.ir.ops import arguments, with_tensors_named
from kernelwright.compiler.ir.prepared import made, needs, prepared_steps
from kernelwright.compiler.ir.steps import references
from kernelwright.compiler.ir.whole import with_tensors

FRESH = frozenset({
    "linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "scaled_dot_product_attention",
})  # fmt: skip
"""Calls whose result is a new tensor that nothing else refers to."""
COUNT = "torch.ops.aten.add_.Tensor"


def reuse_memory(program: Program) -> Program:
    """Return ``program`` with kernels that overwrite inputs that no later step reads."""
    program = update_buffers(program)
    readers = _readers(program)
    needed = set(references(program.outputs)) | {name for name, _ in program.mutations}
    prepared = {name for step in prepared_steps(program) for name in made(step)}
    given = {tensor.name for tensor in (*program.inputs, *(t for t, _ in program.attributes))}
    free: set[str] = set()
    instead: dict[str, Tensor] = {}
    for position, step in enumerate(program.steps):
        if isinstance(step, Kernel):  # what exists already, the kernel updates where it is
            stores = [store for store in _stores(step) if store.tensor.name not in given]
            for old in step.reads:
                is_free = old.name in free - needed and readers[old.name] == {position}
                new = next((s.tensor for s in stores if is_free and _fits(step, old, s)), None)
                if new is not None and new.name not in instead:
                    instead[new.name] = instead.get(old.name, old)
        free |= {tensor.name for tensor in _fresh_outputs(step)} - prepared - given
        given |= set(made(step))
    return _with_tensors(program, instead)


def update_buffers(program: Program) -> Program:
    """Return ``program`` with kernels that write new buffer values over the old ones.

    This is done only where the same step is the only reader of the old value, and nothing reads the
    new one.
    """
    paths = {path: tensor for tensor, path in program.attributes}
    readers = _readers(program)
    makers = {name: n for n, step in enumerate(program.steps) for name in made(step)}
    returned = set(references(program.outputs))
    steps, mutations = list(program.steps), list(program.mutations)
    instead: dict[str, Tensor] = {}
    for name, path in program.mutations:
        old, maker = paths[path], makers.get(name)
        if maker is None or readers.get(name) or name in returned or readers[old.name] != {maker}:
            continue
        step = steps[maker]
        if _is_sum_with_number(step, old, name):
            steps[maker] = Call(COUNT, step.args)
            mutations.remove((name, path))
        elif any(
            s.tensor.name == name and (_fits(step, old, s) or _stands_apart(step, old, s))
            for s in _stores(step)
        ):
            instead[name] = old
            mutations.remove((name, path))
    together = tuple(_counted_together(steps))
    updated = replace(program, steps=together, mutations=tuple(mutations))
    return _with_tensors(updated, instead)


def _counted_together(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield ``steps`` with one call for counters that are increased by the same number."""
    counters: dict[Any, list[Call]] = {}
    for step in steps:
        if isinstance(step, Call) and step.target == COUNT and len(step.args) == 2:
            counters.setdefault(repr(step.args[1]), []).append(step)
    for step in steps:
        same = [calls for calls in counters.values() if step in calls and len(calls) > 1]
        if not same:
            yield step
        elif step is same[0][-1]:
            places = [call.args[0] for call in same[0]]
            yield Call("torch.ops.aten._foreach_add_.Scalar", (places, step.args[1]))


def _readers(program: Program) -> dict[str, set[int]]:
    """Return the positions of the steps that read each tensor."""
    readers: dict[str, set[int]] = {}
    for position, step in enumerate(program.steps):
        inputs = needs(step) if isinstance(step, Call) else {tensor.name for tensor in step.reads}
        for name in inputs:
            readers.setdefault(name, set()).add(position)
    return readers


def _is_sum_with_number(step: Step, old: Tensor, name: str) -> TypeGuard[Call]:
    """Return whether the step is ``name = old + 1``: how BatchNorm counts its batches."""
    return (
        isinstance(step, Call)
        and step.target == "torch.ops.aten.add.Tensor"
        and step.args[0] == Ref(old.name)
        and isinstance(step.args[1], int | float)
        and not step.kwargs
        and made(step) == [name]
    )


def _stores(step: Step) -> list[Store]:
    """Return the stores that may write over something: a total is finished when all is read."""
    if not isinstance(step, Kernel):
        return []
    return [op for op in step.body if isinstance(op, Store) and not isinstance(op, Total)]


def _fresh_outputs(step: Step) -> tuple[Tensor, ...]:
    if not isinstance(step, Call):
        return step.writes
    name = step.target.removeprefix("torch.ops.aten.").partition(".")[0]
    return step.outputs if name in FRESH else ()


def _fits(kernel: Step, old: Tensor, store: Store) -> bool:
    """Return whether the store may overwrite ``old``: same memory, each element read only where it
    is written, and written in the last pass."""
    assert isinstance(kernel, Kernel)
    return _is_same_place(kernel, old, store) and _is_last(kernel, store)


def _is_same_place(kernel: Kernel, old: Tensor, store: Store) -> bool:
    new = store.tensor
    if (old.shape, old.strides, old.dtype) != (new.shape, new.strides, new.dtype):
        return False
    loads = [op for op in kernel.body if isinstance(op, Load) and op.tensor == old]
    inner = {axis.name for axis in kernel.inner}
    first = tuple(term for term in store.index.terms if term[0] not in inner)
    # the first element of a row belongs to the row itself
    places = (store.index, replace(store.index, terms=first))
    return all(not op.bounds and not op.gather and op.index in places for op in loads)


def _stands_apart(kernel: Step, old: Tensor, store: Store) -> bool:
    """Return whether the store may overwrite ``old`` because it holds one element per row in the
    same memory, and only this store depends on the old value, so that no later pass reads it
    again."""
    assert isinstance(kernel, Kernel)
    inner = {axis.name for axis in kernel.inner}
    if store.index.axes & inner or not _is_same_place(kernel, old, store):
        return False
    found = {op.name for op in kernel.body if isinstance(op, Load) and op.tensor == old}
    for op in kernel.body:
        follows = bool(found & set(arguments(op)))
        if follows and isinstance(op, (Reduce, Scan)):
            return False
        if follows and isinstance(op, Store) and op != store:
            return False
        if follows and not isinstance(op, Store):
            found.add(op.name)
    return True


def _is_last(kernel: Kernel, store: Store) -> bool:
    """Return whether the stored value waits for every reduction, so that no later pass reads
    again."""
    passes = {op.name for op in kernel.body if isinstance(op, (Reduce, Scan))}
    by_name = {op.name: op for op in kernel.body if not isinstance(op, Store)}
    found: set[str] = set()
    stack = [store.value]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(arguments(by_name[name]))
    return passes <= found


def _with_tensors(program: Program, instead: Mapping[str, Tensor]) -> Program:
    """Return ``program`` with its tensors replaced by those in ``instead``, by name."""

    def tensor_(tensor: Tensor) -> Tensor:
        return instead.get(tensor.name, tensor)

    def step_(step: Step) -> Step:
        if isinstance(step, Call):
            return replace(step, args=structure(step.args), kwargs=structure(step.kwargs))
        if isinstance(step, (Recurrence, Attention)):
            return with_tensors(step, tensor_)
        return with_tensors_named(step, tensor_)

    def structure(value: Any) -> Any:
        match value:
            case Ref(name) if name in instead:
                return Ref(instead[name].name)
            case list() | tuple():
                return type(value)(map(structure, value))
            case dict():
                return {key: structure(part) for key, part in value.items()}
        return value

    mutations = tuple(
        (instead[name].name if name in instead else name, path) for name, path in program.mutations
    )
    steps = tuple(map(step_, program.steps))
    return replace(program, steps=steps, outputs=structure(program.outputs), mutations=mutations)
