"""The choice of C++ schedules: a first guess from shapes and bytes, and its neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from kernelwright.compiler.codegen.base import Schedule, Target
from kernelwright.compiler.codegen.cpp.flat import crossing
from kernelwright.compiler.codegen.cpp.gemm import Product, product_of
from kernelwright.compiler.codegen.cpp.loop import Knobs, can_stream
from kernelwright.compiler.codegen.cpp.nest import Nest, simplified
from kernelwright.compiler.codegen.knobs import Knob, StepSpace, powers_of_two
from kernelwright.compiler.ir.ir import (
    Axis,
    Compute,
    Contraction,
    Kernel,
    Load,
    Program,
    Reduce,
    Scan,
    Store,
    Total,
)

SERIAL_NS = 5_000.0
"""Estimated time of a step, in ns, below which it runs on one thread: waking the others costs about
as much."""
LONG_NS = 40 * SERIAL_NS
"""Estimated time of a step, in ns, above which running it on one thread is not even tried."""
WORTHWHILE = 0.3
"""Share of the best axis's score below which vectorising along an axis is not tried. Pointwise code
along strided rows took 10 to 30 times as long as along contiguous ones (two Zen 5 cores)."""
ELEMENT_NS = 0.08
"""Estimated time, in ns, of loading one element or of a cheap operation on it: one core,
vectorised."""
PRODUCT_NS = 0.005
"""Estimated time, in ns, of one multiplication or addition in a matrix product on one core."""
FEW_ROWS = 32
"""Number of rows up to which packing the columns of a product costs more than it saves."""
CACHE_FLOATS = 160_000
"""Number of floats of the row operand kept in the second-level cache: more than half of 1 MiB."""
N_FIRST = 4
"""Number of schedules in a first round."""
STREAMED_ELEMENTS = 1 << 18
"""Number of elements of a result from which writing it past the caches is tried: a megabyte, which
fills a second-level cache."""
KEEP_COSTS = (2, 6, 20, 1000)
"""Costs from which values are kept in row buffers: from nearly all of them to none."""
MOST_LANES, N_REGISTERS = 16, 32
"""Floats of a vector register, and their number: AVX-512. Where there are fewer, the compiler's
text narrows the tiles."""

Choice = dict[str, Any]
"""The knobs of one step."""


def knobs_of(step: Kernel | Contraction, schedule: Schedule, target: Target) -> Choice:
    """Return the knobs for ``step``: those in the schedule, or the first guess."""
    return dict(schedule.get(step.name) or guess(step, target))


def guess(step: Kernel | Contraction, target: Target) -> Choice:
    """Return the most promising knobs."""
    if isinstance(step, Contraction):
        return _guess_product(product_of(step), target)
    return _guess_kernel(Nest(simplified(step)), target)


def first_schedules(program: Program, target: Target) -> Iterator[Schedule]:
    """Yield the first guess; then, in turn, each step's next alternative to it."""
    steps = list(program.own())
    guesses = {step.name: guess(step, target) for step in steps}
    others = [list(alternatives(step, guesses[step.name], target)) for step in steps]
    yield guesses
    for choices in itertools.islice(itertools.zip_longest(*others), N_FIRST - 1):
        yield {
            step.name: choice or guesses[step.name]
            for step, choice in zip(steps, choices, strict=True)
        }


def neighbours(program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
    """Yield schedules that differ from ``schedule`` in one choice of one step."""
    chosen = {step.name: knobs_of(step, schedule, target) for step in program.own()}
    for step in program.own():
        for choice in alternatives(step, chosen[step.name], target):
            yield {**chosen, step.name: choice}


def alternatives(step: Kernel | Contraction, choice: Choice, target: Target) -> Iterator[Choice]:
    """Yield knobs for ``step`` one move away from ``choice``, the most promising first."""
    if isinstance(step, Contraction):
        return map(dict, _product_moves(product_of(step), choice, target))
    return map(dict, _kernel_moves(Nest(simplified(step)), choice, target))


# ---- loop nests


def _guess_kernel(nest: Nest, target: Target) -> Choice:
    axes = vector_axes(nest)
    vector = axes[0] if axes else None
    knobs = asdict(Knobs(vector=vector.name if vector else ""))
    if vector and crossing(nest, vector.name):
        knobs["square"] = 16
    return knobs | _threads(nest, vector, target)


def vector_axes(nest: Nest) -> list[Axis]:
    """Return the axes worth vectorising along, best first: most contiguous bytes and full vectors.

    A kernel with a scan gets all axes, because lanes along the scan's own axis depend on each
    other.
    """
    kernel = nest.kernel

    def score(axis: Axis) -> float:
        total = 0.0
        for op in kernel.body:
            if isinstance(op, (Load, Store)):
                step = abs(op.index.coefficient(axis.name))
                weight = float(nest.n_inner) if nest.is_inner(op) else 1.0
                stores = 1.5 if isinstance(op, Store) else 1.0  # scattered stores cost most
                total += weight * stores * {0: 0.5, 1: 1.0, 2: 0.5, 3: 0.4, 4: 0.3}.get(step, 0.1)
        lanes = min(axis.size, 64)
        return total * lanes / (16 * -(-lanes // 16)) * min(1.0, axis.size / 16)

    has_totals = any(isinstance(op, Total) for op in kernel.body)
    outer = [] if has_totals else reversed(kernel.outer)  # whose lanes would add to one sum
    axes = sorted([*kernel.inner, *outer], key=score, reverse=True)
    if any(isinstance(op, Scan) for op in kernel.body):
        return axes
    return [axis for axis in axes if score(axis) >= WORTHWHILE * score(axes[0])]


def _threads(nest: Nest, vector: Axis | None, target: Target) -> Choice:
    kernel = nest.kernel
    if target.threads < 2 or _work_ns(nest) < SERIAL_NS:
        return {"parallel": "none"}
    if any(isinstance(op, Total) for op in kernel.body):
        return {"parallel": "outer", "chunks": 2 * target.threads}
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


def _work_ns(nest: Nest) -> float:
    """Return the estimated time of a nest on one core, in ns."""
    cost = sum(
        nest.cost(op.name) if nest.is_inner(op) else 1.0
        for op in nest.kernel.body
        if isinstance(op, (Load, Compute))
    )
    return nest.n_outer * nest.n_inner * max(cost, 2.0) * ELEMENT_NS


def is_cuttable(kernel: Kernel) -> bool:
    """Return whether the inner loops of a simplified kernel can be cut into chunks for threads."""
    return bool(kernel.inner) and not any(
        isinstance(op, (Scan, Total)) or (isinstance(op, Reduce) and op.op.startswith("arg"))
        for op in kernel.body
    )


def _kernel_moves(nest: Nest, choice: Choice, target: Target) -> Iterator[Mapping[str, Any]]:
    for axis in vector_axes(nest)[:2]:
        if axis.name != choice["vector"]:
            yield choice | {"vector": axis.name} | _threads(nest, axis, target)
    yield from _kernel_space(nest, choice, target).moves(choice)


def _kernel_space(nest: Nest, choice: Choice, target: Target) -> StepSpace:
    """Return the knobs of a loop nest, besides its vectorised axis."""
    kernel, knobs = nest.kernel, []
    if kernel.inner:
        knobs += [
            Knob("keep_cost", KEEP_COSTS),
            Knob("prefetch", (False, True), is_ordered=False),
            Knob("lanes", (16, 32, 64, 128, 256)),
        ]
    elif crossing(nest, choice["vector"]):
        knobs.append(Knob("square", (0, 16, 32, 64), is_ordered=False))
    if _streams(nest, choice["vector"]):
        knobs.insert(0, Knob("stream", (False, True), is_ordered=False))
    if target.threads > 1:
        knobs.append(Knob("parallel", _ways_to_share(nest, choice), is_ordered=False))
        if is_cuttable(kernel) and choice["parallel"] == "inner":
            knobs.append(Knob("chunks", tuple(n * target.threads for n in (1, 2, 4, 8, 16))))
    if not kernel.inner:
        knobs.append(Knob("block", powers_of_two(256, 1 << 18)))
    return StepSpace(tuple(knobs))


def _streams(nest: Nest, vector: str) -> bool:
    """Return whether results may pass the caches: they are long, and lanes are neighbours."""
    stores = [op for op in nest.kernel.body if isinstance(op, Store)]
    inner = {axis.name for axis in nest.kernel.inner}
    if inner and vector not in inner:
        return False
    long = [op for op in stores if op.tensor.n_elements >= STREAMED_ELEMENTS]
    return any(can_stream(op, vector) for op in long)


def _ways_to_share(nest: Nest, choice: Choice) -> tuple[str, ...]:
    """Return the ways to share a nest among threads; one thread only where it may be enough."""
    ways = ["outer", choice["parallel"]]
    if _work_ns(nest) < LONG_NS:
        ways.append("none")
    return tuple(dict.fromkeys(ways))


# ---- matrix products


def _guess_product(product: Product, target: Target) -> Choice:
    knobs: Choice = {"few": False, **_tile(product, 12, 2)}
    if product.m <= FEW_ROWS and _can_be_few(product):
        knobs |= _few(product)
    work_ns = 2.0 * product.n_batch * product.m * product.n * product.n_k * PRODUCT_NS
    if target.threads < 2 or work_ns < SERIAL_NS:
        return knobs | {"parallel": "none"}
    if product.n_batch >= 2 * target.threads:
        return knobs | {"parallel": "outer"}
    return _shared(product, knobs, target) | {"parallel": "inner"}


def _can_be_few(product: Product) -> bool:
    return all(map(product.runs_along_k, (product.left, product.right)))


def _few(product: Product) -> Choice:
    return {"few": True, "mr": 1 if product.m == 1 else 2 if product.m == 2 else 4}


def _tile(product: Product, mr: int, nv: int) -> Choice:
    """Return a register tile of mr rows by nv vectors, with blocks that fill the second-level
    cache."""
    n_cuts = max(1, -(-product.n_k // 1280))
    kc = -(-product.n_k // n_cuts)
    mc = max(mr, min(144, CACHE_FLOATS // max(kc, 1)) // mr * mr)
    return {"mr": mr, "nv": nv, "mc": mc, "nc": nv * 256, "kc": max(kc, 1)}


def _shared(product: Product, knobs: Choice, target: Target) -> Choice:
    """Return ``knobs`` with blocks small enough that every thread gets several."""
    knobs = dict(knobs)

    def blocks() -> int:
        return -(-product.m // knobs["mc"]) * -(-product.n // knobs["nc"])

    while blocks() < 4 * target.threads and knobs["nc"] > knobs["nv"] * 32:
        knobs["nc"] //= 2
    while blocks() < 2 * target.threads and knobs["mc"] > knobs["mr"]:
        knobs["mc"] = max(knobs["mr"], knobs["mc"] // (2 * knobs["mr"]) * knobs["mr"])
    return knobs


def _product_moves(product: Product, choice: Choice, target: Target) -> Iterator[Mapping[str, Any]]:
    if choice["few"]:
        yield choice | {"few": False} | _tile(product, 12, 2)
        yield from StepSpace((Knob("mr", (1, 2, 4, 8)),)).moves(choice)
        return
    if _can_be_few(product) and product.m <= 8 * FEW_ROWS:
        yield choice | _few(product)
    for mr, nv in ((8, 3), (14, 2), (6, 4), (12, 2)):
        if (mr, nv) != (choice["mr"], choice["nv"]):
            move = _tile(product, mr, nv)
            if choice["parallel"] == "inner":
                move = _shared(product, move, target)
            yield choice | move
    yield from _product_space(product, target).moves(choice)


def _product_space(product: Product, target: Target) -> StepSpace:
    """Return the knobs of a product in register tiles."""
    knobs = [
        Knob("nc", powers_of_two(32, 4096)),
        Knob("mc", (12, 24, 48, 72, 96, 144, 192, 288)),
        Knob("kc", (128, 256, 384, 512, 768, 1024, 1280, 2048)),
        Knob("mr", (2, 4, 6, 8, 10, 12, 14)),
        Knob("nv", (1, 2, 3, 4)),
    ]
    if target.threads > 1:
        ways = ("outer", "inner") if product.n_batch > 1 else ("inner", "none")
        knobs.append(Knob("parallel", ways, is_ordered=False))

    def settled(choice: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the choice with blocks of whole register tiles."""
        rows, columns = choice["mr"], choice["nv"] * MOST_LANES
        blocks = {
            name: max(1, round(choice[name] / side)) * side
            for name, side in (("mc", rows), ("nc", columns))
        }
        return {**choice, **blocks, "kc": min(choice["kc"], max(1, product.n_k))}

    def is_legal(choice: Mapping[str, Any]) -> bool:
        n_sums = choice["mr"] * choice["nv"]
        fits = (choice["mc"] + choice["mr"]) * choice["kc"] <= 4 * CACHE_FLOATS
        return n_sums + choice["nv"] + 1 <= N_REGISTERS and fits

    return StepSpace(tuple(knobs), is_legal, settled)
