"""Outlines: what the steps of a program do and how much of it, for cost models and for comparing
programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from kernelwright.compiler.capture.recurrent import CELLS
from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.schedule import nest
from kernelwright.compiler.codegen.triton.tiles import exchanged
from kernelwright.compiler.ir.ir import (
    Attention,
    Call,
    Compute,
    Contraction,
    Kernel,
    Load,
    Program,
    Recurrence,
    Reduce,
    Scan,
    Step,
    Tensor,
)
from kernelwright.compiler.ir.sizes import fixed
from kernelwright.compiler.ir.steps import references
from kernelwright.core.trial import Outline, StepOutline

BYTES = {"float64": 8, "int64": 8, "bfloat16": 2, "float16": 2, "int16": 2}
"""Bytes of an element, by dtype; other types are taken for float32, and bool and 8 bits for one."""
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "_grouped_mm", "_scaled_mm")
"""Words in the names of the library's products."""
_LEFT_FIRST = {"_grouped_mm", "_scaled_mm"}
"""Products whose left operand is followed by more than the right one."""
CHANNELS_LAST = "channels last"
"""The mark of a call of the library that convolves an image as it lies."""


def outline_of(program: Program) -> Outline:
    """Return the outline of a program, with the sizes of the task's own inputs."""
    tensors = {tensor.name: tensor for tensor in program.inputs}
    tensors |= {tensor.name: tensor for tensor, _ in program.attributes}
    steps = []
    for step in program.steps:
        made = step.outputs if isinstance(step, Call) else step.writes
        tensors |= {tensor.name: tensor for tensor in made}
        steps.append(_outlined(fixed(step), tensors))
    return Outline(tuple(steps))


def _outlined(step: Step, tensors: Mapping[str, Tensor]) -> StepOutline:
    if isinstance(step, Call):
        return _library(step, tensors)
    moved = {"bytes": float(sum(map(_bytes, (*step.reads, *step.writes))))}
    types = Counter(tensor.dtype for tensor in (*step.reads, *step.writes))
    match step:
        case Kernel():
            kind, form, sizes = "nest", *_nest(step)
        case Contraction():
            kind, form, sizes = ("convolution" if step.tf32 else "product"), *_contraction(step)
        case Attention():
            rows, width = step.q.n_elements // step.q.shape[3], step.q.shape[3]
            columns = step.k.shape[2]
            kind, form = "attention", Counter(causal=int(step.causal))
            sizes = {"rows": rows, "columns": columns, "k": width}
            seen = 0.5 if step.spans else 1.0  # as under a causal mask: what is hidden is left out
            sizes["flops"] = 4.0 * rows * columns * width * seen
        case Recurrence():
            kind, form = "recurrence", Counter([step.cell])
            steps = step.x.shape[1 if step.batch_first else 0]
            rows = step.x.n_elements // step.x.shape[-1] // max(1, steps)
            sizes = {"rows": rows, "columns": step.hidden, "k": steps}
            weights = sum(weight.n_elements for weight in step.weights)
            sizes["flops"] = 2.0 * rows * steps * weights
    counts = {name: float(count) for name, count in sizes.items()}
    return StepOutline(step.name, kind, dict(form + types), moved | counts)


def _nest(kernel: Kernel) -> tuple[Counter[str], dict[str, float]]:
    shape, scopes = nest(kernel), kernel.scopes()
    form = Counter([shape.kind])
    form["exchanged"] += exchanged(kernel) is not None
    n_values = {"outer": 0, "inner": 0}
    for op in kernel.body:
        if isinstance(op, (Compute, Reduce, Scan)):
            form[op.op] += 1
            n_values[scopes[op.arg if isinstance(op, Reduce) else op.name]] += 1
        form["gather"] += isinstance(op, Load) and bool(op.gather)
        form["bounds"] += isinstance(op, Load) and bool(op.bounds)
    rows, columns = size_of(kernel.outer), size_of(kernel.inner)
    flops = float(rows) * (n_values["outer"] + columns * n_values["inner"])
    n_reduced = sum(isinstance(op, (Reduce, Scan)) for op in kernel.body)
    sizes = {"rows": rows, "columns": columns, "passes": n_reduced, "flops": flops}
    return form, sizes


def _contraction(step: Contraction) -> tuple[Counter[str], dict[str, float]]:
    form = Counter(op.op for op in step.body if isinstance(op, (Compute, Reduce)))
    form["stretched"] += bool(step.stretches)
    b, m, n, k = map(size_of, (step.batch, step.m, step.n, step.k))
    flops = 2.0 * b * m * n * k * len(step.sums)
    sizes = {"batch": b, "rows": m, "columns": n, "k": k, "flops": flops}
    return form, sizes


def is_product(call: Call) -> bool:
    """Whether a call of the library multiplies matrices or convolves."""
    return any(word in PRODUCTS or word.startswith("conv") for word in call.target.split("."))


def _library(call: Call, tensors: Mapping[str, Tensor]) -> StepOutline:
    read = [tensors[name] for name in references((call.args, call.kwargs)) if name in tensors]
    n_bytes = sum(map(_bytes, (*read, *call.outputs)))
    n_results = sum(tensor.n_elements for tensor in call.outputs)
    words = call.target.split(".")
    flops = _flops(words, read, float(n_results)) if len(read) > 1 else float(n_results)
    sizes = {"bytes": float(n_bytes), "flops": flops}
    types = Counter(tensor.dtype for tensor in (*read, *call.outputs))
    form = {call.target: 1, **types}
    if any(word.startswith("conv") for word in words):
        if len(read) > 2:
            sizes["bias_bytes"] = 2.0 * sum(map(_bytes, call.outputs))
        if read[0].strides[1:2] == (1,):
            form[CHANNELS_LAST] = 1
    return StepOutline("", "library", form, sizes)


def _flops(words: Sequence[str], read: Sequence[Tensor], n_results: float) -> float:
    """Return the arithmetic of a call of the library that reads two tensors or more."""
    first = read[0]
    if any(word in PRODUCTS for word in words):
        left = next((tensor for tensor in reversed(read[:-1]) if tensor.shape), first)
        left = left if _LEFT_FIRST.isdisjoint(words) else first
        return 2.0 * n_results * (left.shape[-1] if left.shape else 1)
    if any(word.startswith("conv") for word in words):
        n_points = first.n_elements if "transpose" in " ".join(words) else n_results
        return 2.0 * n_points * math.prod(read[1].shape[1:])
    if any(word in CELLS for word in words):
        weights = sum(tensor.n_elements for tensor in read[1:] if len(tensor.shape) == 2)
        return 2.0 * first.n_elements / first.shape[-1] * weights
    if "scaled_dot_product_attention" in words:
        return 4.0 * first.n_elements * read[1].shape[-2]
    return n_results


def _bytes(tensor: Tensor) -> int:
    is_small = tensor.dtype == "bool" or tensor.dtype.endswith("int8")
    return tensor.n_elements * (1 if is_small else BYTES.get(tensor.dtype, 4))
