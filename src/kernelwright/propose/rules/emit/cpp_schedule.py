"""Choosing schedules for C++: a first guess by shape and bytes, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kernelwright.propose.rules.emit.base import Schedule, Target
from kernelwright.propose.rules.emit.cpp_gemm import Product, product_of
from kernelwright.propose.rules.emit.cpp_nest import Nest, indices, simplified
from kernelwright.propose.rules.emit.cpp_rows import Knobs
from kernelwright.propose.rules.emit.cpp_types import SIZE_BYTES
from kernelwright.propose.rules.ir import (
    Axis,
    Compute,
    Contraction,
    Kernel,
    Load,
    Program,
    Reduce,
    Scan,
    Store,
)

SERIAL_NS = 5_000.0
"""Below this estimate a kernel runs on one thread: waking the others costs about as much."""
ELEMENT_NS = 0.08
"""Estimated time of one element's load or cheap operation on one core, vectorised."""

FEW_ROWS = 32
"""Up to here packing the columns of a product costs more than it saves."""
PRODUCT_NS = 0.005
"""Estimated time of one multiplication or addition in a matrix product on one core."""


def knobs_of(step: Kernel | Contraction, schedule: Schedule, target: Target) -> dict[str, Any]:
    """The knobs for ``step``: those in the schedule, or the first guess."""
    return dict(schedule.get(step.name) or guess(step, target))


def guess(step: Kernel | Contraction, target: Target) -> dict[str, Any]:
    """The most promising knobs."""
    if isinstance(step, Contraction):
        return _guess_product(product_of(step), target)
    return _guess_kernel(step, target)


def _guess_product(product: Product, target: Target) -> dict[str, Any]:
    """Blocks of columns and rows that fill the second-level cache and keep every thread busy."""
    knobs: dict[str, Any] = {"few": False, "mr": 12, "nv": 2, "mc": 96, "nc": 512, "kc": 512}
    if product.m <= FEW_ROWS and all(map(product.runs_along_k, (product.left, product.right))):
        knobs |= {"few": True, "mr": 1 if product.m == 1 else 2 if product.m == 2 else 4}
    work_ns = 2.0 * product.n_batch * product.m * product.n * product.n_k * PRODUCT_NS
    if target.threads < 2 or work_ns < SERIAL_NS:
        return knobs | {"parallel": "none"}
    if product.n_batch >= 2 * target.threads:
        return knobs | {"parallel": "outer"}

    def blocks() -> int:
        return -(-product.m // knobs["mc"]) * -(-product.n // knobs["nc"])

    while blocks() < 4 * target.threads and knobs["nc"] > 64:
        knobs["nc"] //= 2
    while blocks() < 2 * target.threads and knobs["mc"] > 12:
        knobs["mc"] = max(12, knobs["mc"] // 24 * 12)
    return knobs | {"parallel": "inner"}


def _guess_kernel(kernel: Kernel, target: Target) -> dict[str, Any]:
    nest = Nest(simplified(kernel))
    vector = _vector_axis(nest)
    knobs = asdict(Knobs(vector=vector.name if vector else ""))
    del knobs["fresh"]
    knobs |= _threads(nest, vector, target)
    return knobs


def _vector_axis(nest: Nest) -> Axis | None:
    """The axis along which most bytes are contiguous, and long enough to fill vectors."""
    kernel = nest.kernel
    axes = [*kernel.inner, *reversed(kernel.outer)]
    if not kernel.inner and not axes:
        return None

    def score(axis: Axis) -> float:
        total = 0.0
        for op in kernel.body:
            if not isinstance(op, (Load, Store)):
                continue
            step = abs(op.index.coefficient(axis.name))
            weight = float(nest.n_inner) if nest.is_inner(op) else 1.0
            gathered = isinstance(op, Load) and op.gather
            good = {0: 0.5, 1: 1.0}.get(step, 0.15)
            total += weight * (0.3 if gathered and step > 1 else good)
        fill = min(axis.size, 64) / (16 * -(-min(axis.size, 64) // 16))
        return total * fill * min(1.0, axis.size / 16)

    return max(axes, key=score)


def _threads(nest: Nest, vector: Axis | None, target: Target) -> dict[str, Any]:
    kernel = nest.kernel
    cost = sum(
        nest.cost(op.name)
        for op in kernel.body
        if isinstance(op, (Load, Compute)) and nest.is_inner(op)
    )
    work_ns = nest.n_outer * nest.n_inner * max(cost, 2.0) * ELEMENT_NS
    if target.threads < 2 or work_ns < SERIAL_NS:
        return {"parallel": "none"}
    if not kernel.inner:
        size = vector.size if vector else 1
        others = nest.n_outer // max(size, 1)
        block = size if others >= 4 * target.threads else 4096
        while others * -(-size // block) < 2 * target.threads and block > 256:
            block //= 2
        return {"parallel": "outer", "block": block}
    trips = nest.n_outer
    if vector in kernel.outer:
        trips = trips // vector.size * -(-vector.size // 64)
    if trips < target.threads and is_cuttable(kernel):
        return {"parallel": "inner", "chunks": 4 * target.threads}
    return {"parallel": "outer"}


def is_cuttable(kernel: Kernel) -> bool:
    """Whether the inner loops of a simplified kernel can be cut into chunks for threads."""
    return bool(kernel.inner) and not any(
        isinstance(op, Scan) or (isinstance(op, Reduce) and op.op.startswith("arg"))
        for op in kernel.body
    )


def first_schedules(program: Program, target: Target) -> Iterator[Schedule]:
    """Schedules for the first round."""
    yield {step.name: guess(step, target) for step in program.own()}


def neighbours(program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
    """Schedules that differ from ``schedule`` in one knob of one kernel."""
    return iter(())


__all__ = ["SIZE_BYTES", "first_schedules", "guess", "indices", "knobs_of", "neighbours"]
