"""The meaning of a Program, run with whole-tensor torch operations: slow, exact, and readable.

Emitted code and the compiler's front end are both tested against it. It materialises every loop
nest, so it is for small sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from kernelwright.compiler.ir.capped import capped_attention
from kernelwright.compiler.ir.ir import (
    Affine,
    Attention,
    Axis,
    Call,
    Compute,
    Const,
    Contraction,
    Iota,
    Kernel,
    Load,
    Op,
    PartTotal,
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

Memory = dict[str, torch.Tensor]
"""The tensors of a program by name; each step adds its results."""


def _within(index: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    if ((index < 0) | (index >= size)).any():
        raise IndexError("index out of range in self")
    return index


_POINTWISE = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
    "maximum": torch.maximum, "minimum": torch.minimum, "fmod": torch.fmod, "atan2": torch.atan2,
    "neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "expm1": torch.expm1, "log": torch.log,
    "log1p": torch.log1p, "log2": torch.log2, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "erf": torch.erf, "floor": torch.floor, "ceil": torch.ceil,
    "round": torch.round, "trunc": torch.trunc, "sign": torch.sign, "square": torch.square,
    "relu": torch.relu, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "eq": torch.eq, "ne": torch.ne, "and": torch.bitwise_and, "or": torch.bitwise_or,
    "xor": torch.bitwise_xor, "rshift": torch.bitwise_right_shift,
    "not": torch.logical_not, "isnan": torch.isnan,
    "isinf": torch.isinf, "where": torch.where, "cast": lambda value: value,
    "within": _within,
}  # fmt: skip

_REDUCTIONS = {
    "sum": torch.sum, "prod": torch.prod, "max": torch.amax, "min": torch.amin,
    "argmax": torch.argmax, "argmin": torch.argmin, "any": torch.any, "all": torch.all,
}  # fmt: skip

_SCANS = {
    "sum": torch.cumsum,
    "prod": torch.cumprod,
    "max": lambda value, dim: torch.cummax(value, dim).values,
    "min": lambda value, dim: torch.cummin(value, dim).values,
}

_SCAN_START = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def interpret(
    program: Program, inputs: list[torch.Tensor], attributes: Mapping[str, torch.Tensor]
) -> Any:
    """Return the result of ``program`` for ``inputs``; ``attributes`` are the module's, by path.

    Buffers that the program updates are updated in place.

    Raises:
        ValueError: an input or attribute does not have the strides that the program was made for.
    """
    memory: Memory = {}
    for tensor, value in zip(program.inputs, inputs, strict=True):
        memory[tensor.name] = _checked(tensor, value)
    for tensor, path in program.attributes:
        memory[tensor.name] = _checked(tensor, attributes[path])
    for step in program.steps:
        run_step(step, memory)
    for name, path in program.mutations:
        attributes[path].copy_(memory[name])
    return resolve(program.outputs, memory)


def run_step(step: Step, memory: Memory) -> None:
    """Run one step; its results are added to ``memory``, or written in place if the step does
    so."""
    match step:
        case Call():
            _run_call(step, memory)
        case Kernel():
            _run_body(step.outer, step.inner, step.body, {}, memory)
        case Contraction():
            _run_contraction(step, memory)
        case Recurrence():
            _run_recurrence(step, memory)
        case Attention():
            memory[step.result.name] = _laid_out(_attended(step, memory), step.result)


def _attended(step: Attention, memory: Memory) -> torch.Tensor:
    q, k, v = (memory[tensor.name] for tensor in (step.q, step.k, step.v))
    mask = memory[step.mask.name] if step.mask else None
    if step.cap:
        return capped_attention(q, k, v, mask, step.scale, step.cap)
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, mask, is_causal=step.causal, scale=step.scale, enable_gqa=True
    )


def resolve(structure: Any, memory: Memory) -> Any:
    """Return ``structure`` with every Ref replaced by its tensor; literals stay."""
    match structure:
        case Ref(name):
            return memory[name]
        case tuple() | list():
            return type(structure)(resolve(part, memory) for part in structure)
        case dict():
            return {key: resolve(part, memory) for key, part in structure.items()}
    return structure


def _checked(tensor: Tensor, value: torch.Tensor) -> torch.Tensor:
    seen = (tuple(value.shape), tuple(value.stride()), dtype_name(value.dtype))
    strides = tuple(
        have if size == 1 else want
        for size, have, want in zip(tensor.shape, value.stride(), tensor.strides, strict=False)
    )
    if seen != (tensor.shape, strides, tensor.dtype):
        raise ValueError(f"{tensor} was given shape, strides and dtype {seen}")
    return value


def dtype_name(dtype: torch.dtype) -> str:
    """Return torch's name of a dtype: 'float32' for torch.float32."""
    return str(dtype).removeprefix("torch.")


def _run_call(call: Call, memory: Memory) -> None:
    target: Any = torch
    for part in call.target.split(".")[1:]:
        target = getattr(target, part)
    kwargs = {key: resolve(value, memory) for key, value in call.kwargs}
    results = target(*(resolve(arg, memory) for arg in call.args), **kwargs)
    results = results if isinstance(results, (tuple, list)) else (results,)
    for tensor, result in zip(call.outputs, results, strict=False):
        memory[tensor.name] = result


def _run_contraction(step: Contraction, memory: Memory) -> None:
    def operand(
        load: Load, made: tuple[Op, ...], dtype: str, *sides: tuple[Axis, ...]
    ) -> torch.Tensor:
        axes = tuple(axis for side in (step.batch, *sides) for axis in side)
        sizes = [math.prod(a.size for a in side) for side in (step.batch, *sides)]
        values: Memory = {}
        _run_body(axes, (), made or (load,), values, memory)
        value = values[made[-1].name if made else load.name]  # type: ignore[union-attr]
        value = value.to(getattr(torch, dtype)) if dtype else value
        return value.expand([a.size for a in axes]).reshape(sizes)

    if step.stretches:
        groups = (step.batch, step.m, step.k)
        sizes = [math.prod(axis.size for axis in group) for group in groups]
        a = _stretched(step, memory).reshape(sizes)
    else:
        a = operand(step.a, step.a_made, step.dtypes[0], step.m, step.k)
    wide = torch.float64 if a.dtype == torch.float64 else torch.float32

    def product(load: Load, a: torch.Tensor) -> torch.Tensor:
        b = operand(load, step.b_made, step.dtypes[1], step.k, step.n)
        return torch.bmm(a.to(wide), b.to(wide))

    outer = (*step.batch, *step.m, *step.n)
    if step.groups:
        acc = torch.zeros(a.shape[0], a.shape[1], math.prod(x.size for x in step.n), dtype=wide)
        start = 0
        for number, end in enumerate(memory[step.groups.ends.name].tolist()):
            index = step.b.index
            index = replace(index, offset=index.offset + number * step.groups.step)
            acc[:, start:end] = product(replace(step.b, index=index), a[:, start:end])
            start = end
        sums = {"acc": acc}
    else:
        sums = {word: product(b, a) for word, b in step.sums}
    values = {word: value.reshape([x.size for x in outer]) for word, value in sums.items()}
    body = tuple(op for op in step.body if not isinstance(op, PartTotal))
    inner = step.n if step.folds else ()
    _run_body(outer[: len(outer) - len(inner)], inner, body, values, memory)
    for op in step.body:
        if isinstance(op, PartTotal):
            _total_of_parts(op, values[op.value], step, memory)


def _total_of_parts(op: PartTotal, value: torch.Tensor, step: Contraction, memory: Memory) -> None:
    sizes = [axis.size for axis in (*step.batch, *step.m, *step.n)]
    columns = math.prod(axis.size for axis in step.n)
    found = []
    for rows in value.expand(sizes).reshape(-1, columns).split(op.rows):
        far = rows if op.op == "sum" else (rows - rows.mean(0)).square()
        found.append(far.sum(0).reshape([axis.size for axis in step.n]))
    memory[op.tensor.name] = torch.empty_strided(op.tensor.shape, op.tensor.strides)
    part = Axis("part of rows", len(found))
    index = replace(op.index, terms=((part.name, op.tensor.strides[0]), *op.index.terms))
    store = Store(op.tensor, index, op.value)
    _store(store, (part, *step.n), {op.value: torch.stack(found)}, memory)


def _run_recurrence(step: Recurrence, memory: Memory) -> None:
    states = [memory[tensor.name] for tensor in step.states]
    results = getattr(torch.ops.aten, step.cell).input(
        memory[step.x.name],
        states if step.cell == "lstm" else states[0],
        [memory[tensor.name] for tensor in step.weights],
        step.biased,
        step.n_layers,
        0.0,
        False,
        step.bidirectional,
        step.batch_first,
    )
    for tensor, result in zip(step.results, results, strict=True):
        memory[tensor.name] = result


def _stretched(step: Contraction, memory: Memory) -> torch.Tensor:
    """Return the operand ``a`` of a transposed convolution at every point of batch, m and k."""
    axes = (*step.batch, *step.m, *step.k)
    stretched = {s.out for s in step.stretches}
    index = _index(Affine(tuple(t for t in step.a.index.terms if t[0] not in stretched)), axes)
    inside = torch.ones([1] * len(axes), dtype=torch.bool)
    for s in step.stretches:
        far = _index(Affine(((s.out, 1), (s.tap, -s.dilation)), s.padding), axes)
        at = far.div(s.stride, rounding_mode="floor")
        inside = inside & (at * s.stride == far) & (at >= 0) & (at < s.size)
        index = index + at * step.a.index.coefficient(s.out)
    index, inside = torch.broadcast_tensors(index, inside)
    loaded = _memory_of(memory[step.a.tensor.name])[torch.where(inside, index, 0)]
    return torch.where(inside, loaded, 0.0).expand([a.size for a in axes])


def _laid_out(value: torch.Tensor, tensor: Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.strides, dtype=value.dtype).copy_(value)


def _run_body(
    outer: tuple[Axis, ...],
    inner: tuple[Axis, ...],
    body: tuple[Op, ...],
    values: Memory,
    memory: Memory,
) -> None:
    """Run a body; every value has one dimension per axis, of size 1 if it does not depend on the
    axis."""
    axes = (*outer, *inner)
    sizes = [axis.size for axis in axes]
    inner_dims = list(range(len(outer), len(axes)))
    for op in body:
        match op:
            case Load():
                values[op.name] = _load(op, axes, values, memory)
            case Const():
                constant = torch.tensor(op.value, dtype=getattr(torch, op.dtype))
                values[op.name] = constant.reshape([1] * len(axes))
            case Iota():
                values[op.name] = _index(op.index, axes)
            case Compute():
                result = _POINTWISE[op.op](*(values[arg] for arg in op.args))
                values[op.name] = result.to(getattr(torch, op.dtype))
            case Reduce():
                values[op.name] = _reduce(op, values[op.arg], inner_dims, sizes)
            case Scan():
                factor = values[op.factor] if op.factor else None
                values[op.name] = _scan(op, values[op.arg], factor, sizes)
            case Total():
                whole = values[op.value].expand(sizes)
                summed = whole.sum(tuple(range(len(outer))), keepdim=True, dtype=whole.dtype)
                _store(op, axes, {op.value: summed}, memory)
            case Store():
                _store(op, axes, values, memory)


def _index(index: Affine, axes: tuple[Axis, ...]) -> torch.Tensor:
    result = torch.full([1] * len(axes), index.offset, dtype=torch.int64)
    for dim, axis in enumerate(axes):
        if coefficient := index.coefficient(axis.name):
            shape = [axis.size if d == dim else 1 for d in range(len(axes))]
            result = result + coefficient * torch.arange(axis.size).reshape(shape)
    return result


def _memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the memory from the tensor's first element to its last, as one flat view."""
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((extent,), (1,))


def _load(op: Load, axes: tuple[Axis, ...], values: Memory, memory: Memory) -> torch.Tensor:
    index = _index(op.index, axes)
    for value, stride in op.gather:
        index = index + stride * values[value].long()
    inside: torch.Tensor | None = None
    for bound in op.bounds:
        position = _index(bound.index, axes)
        holds = (position >= bound.low) & (position < bound.high)
        inside = holds if inside is None else inside & holds
    if inside is None:
        return _memory_of(memory[op.tensor.name])[index]
    loaded = _memory_of(memory[op.tensor.name])[torch.where(inside, index, 0)]
    return torch.where(inside, loaded, torch.tensor(op.fill, dtype=loaded.dtype))


def _reduce(op: Reduce, value: torch.Tensor, dims: list[int], sizes: list[int]) -> torch.Tensor:
    spread = [sizes[d] if d in dims else value.shape[d] for d in range(len(sizes))]
    rows = value.expand(spread).flatten(dims[0]) if dims else value.unsqueeze(-1)
    result = _REDUCTIONS[op.op](rows, dim=-1).to(getattr(torch, op.dtype))
    return result.reshape(*result.shape, *([1] * len(dims)))


def _scan(
    op: Scan, value: torch.Tensor, factor: torch.Tensor | None, sizes: list[int]
) -> torch.Tensor:
    value = value.expand(*value.shape[:-1], sizes[-1])
    if factor is not None:
        return _decay(*torch.broadcast_tensors(value, factor))
    value = value.flip(-1) if op.reverse else value
    result = _SCANS[op.op](value, dim=-1).to(getattr(torch, op.dtype))
    if op.exclusive:
        start = torch.full_like(result[..., :1], _SCAN_START[op.op])
        result = torch.cat([start, result[..., :-1]], dim=-1)
    return result.flip(-1) if op.reverse else result


def _decay(value: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    states = [value[..., 0]]
    for step in range(1, value.shape[-1]):
        states.append(factor[..., step] * states[-1] + value[..., step])
    return torch.stack(states, dim=-1)


def _store(op: Store, axes: tuple[Axis, ...], values: Memory, memory: Memory) -> None:
    name = op.tensor.name
    if name not in memory:
        dtype = getattr(torch, op.tensor.dtype)
        memory[name] = torch.empty_strided(op.tensor.shape, op.tensor.strides, dtype=dtype)
    index, value = torch.broadcast_tensors(_index(op.index, axes), values[op.value])
    _memory_of(memory[name])[index.flatten()] = value.flatten().to(memory[name].dtype)
