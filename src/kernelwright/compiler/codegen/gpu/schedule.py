"""The scheduling decisions that the GPU emitters share: the joint schedules of a program's steps.

A program's schedule maps the name of every own step to that step's knobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernelwright.compiler.codegen.anonymous import anonymous
from kernelwright.compiler.codegen.base import Emitted, Schedule, text_of
from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.nest import Nest, nest
from kernelwright.compiler.codegen.gpu.stages import can_split
from kernelwright.compiler.ir.ir import (
    Attention,
    Call,
    Contraction,
    Kernel,
    Program,
    Recurrence,
    Tensor,
)
from kernelwright.compiler.ir.sizes import free_reaches
from kernelwright.compiler.ir.steps import references

Knobs = Mapping[str, Any]
Own = Kernel | Contraction | Recurrence | Attention

INT_LIMIT = 2**31 - 2**20
"""Index from which 64 bits are used: a tile may reach past the end before its mask is applied."""
N_PROCESSORS = 132
"""Streaming multiprocessors of an H100 SXM or H200 (NVIDIA H100 datasheet)."""
N_WANTED = 4 * N_PROCESSORS
"""Number of blocks that keep such a GPU busy: a few for every processor."""
PART_COLUMNS = 4096
"""Number of elements of a row below which cutting it costs more than it gains."""
LEAST_PART = 512
"""Least number of elements in a part that neighbours of a schedule may cut; chosen as two values
for each of 256 threads."""
LEAST_COLUMN, MOST_COLUMN = 64, 4096
"""Number of columns of a thin matrix that one program reads: 8 by 4096 take about 1 us from the L2
cache."""
SECTOR_FLOATS = 8
"""Number of float32 values that one memory access fetches at least: 32 bytes."""
MAX_SCHEDULES = 12
"""Number of ranks of choices that become schedules of a whole program."""
CONVOLVED_BYTES_S = 4e11
"""Bytes per second that the library's convolutions are assumed to write: a tenth of a copy's
rate."""
LAUNCH_S = 10e-6
"""Seconds that a launch from Python is assumed to cost. It only decides what is tried first:
programs are tried with and without a CUDA graph, and the judge decides."""
NEAR = 6.0
"""Ratio of the kernels' time to the launches' cost up to which a graph is tried first: a guess, not
measured."""
COPY_BYTES_S = 4.28e12
"""Bytes per second of a copy in memory, measured on an H200."""
FLOAT_FLOPS_S, HALF_FLOPS_S = 60e12, 600e12
"""Operations per second of a product: of float32, nine tenths of the peak in NVIDIA's H200
datasheet, and of narrower types on the tensor cores, as large products of cuBLAS reach."""
BYTES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
}
"""Bytes of a number; those of other types have one."""
QUICKER = {"bf16x3_6": 1.9, "fp16x2_3": 3.6}
"""Speed relative to a float32 product, by form of the parts; measured at 4096 x 4096 x 4096 on an
H200."""
TIME_STEP_S = 1.5e-6
"""Seconds per time step of a recurrent network, in which a state passes through the L2 cache to
other processors. A guess, not measured."""


def needs_int64(step: Kernel | Contraction) -> bool:
    """Return whether an index can exceed 2^31."""
    points = max(size_of(step.outer), size_of(step.inner)) if isinstance(step, Kernel) else 0
    extents = [
        1 + sum((n - 1) * abs(s) for n, s in zip(t.shape, t.strides, strict=True))
        for t in (*step.reads, *step.writes)
    ]
    return max([points, *extents]) >= INT_LIMIT


def limits_of(program: Program) -> tuple[str, ...]:
    """Return the conditions of a program's free sizes under which 32 bits hold its indices."""
    own = [step for step in program.own() if not isinstance(step, Recurrence)]
    short = [step for step in own if isinstance(step, Attention) or not needs_int64(step)]
    tensors = [tensor for step in short for tensor in (*step.reads, *step.writes)]
    return tuple(f"{reach} < {INT_LIMIT}" for reach in free_reaches(tensors))


def parts_wanted(shape: Nest, n_programs: int, least: int) -> int:
    """Return the number of parts to cut each row into so that a GPU is busy; 1 if it is busy
    without. Down a column a thread has few bytes on their way at a time, and twice as many blocks
    hide the memory's latency."""
    if n_programs >= N_PROCESSORS or shape.has_scan:
        return 1
    n_wanted = 2 * N_WANTED if shape.kind == "column" else N_WANTED
    return max(1, min(n_wanted // n_programs, shape.n_columns // least))


def more_parts(kernel: Kernel, knobs: Knobs) -> list[int]:
    """Return the numbers of parts (two, four) to try for rows that ``knobs`` leave whole, if whole
    rows leave at least half of the processors idle. Cutting costs a launch or two, so it is tried
    only on schedules that otherwise did well."""
    shape = nest(kernel)
    is_whole = knobs.get("shape") in ("row", "rows", "column") and "parts" not in knobs
    if not is_whole or shape.has_scan or 2 * shape.n_rows > N_PROCESSORS or not can_split(kernel):
        return []
    return [parts for parts in (2, 4) if shape.n_columns >= parts * LEAST_PART]


def power_of_two(n: int) -> int:
    """Return the smallest power of two that is not below ``n``."""
    return 1 << max(0, n - 1).bit_length()


def combine(
    program: Program, choices: Callable[[Any], list[Knobs]], *, can_graph: bool
) -> Iterator[Schedule]:
    """Yield schedules of a program: the best choice for every step, then every step's next choice.
    If launching dominates, they run as CUDA graphs, and the best one is then also tried without."""
    by_step = {step.name: choices(step) for step in program.own()}
    if not by_step:
        return
    longest = max(len(options) for options in by_step.values())
    ranked = [
        {
            name: dict(options[rank] if rank < len(options) else options[0])
            for name, options in by_step.items()
        }
        for rank in range(min(longest, MAX_SCHEDULES))
    ]
    if not can_graph or not _gains_by_graph(program, ranked[0]):
        yield from ranked
        return
    graphs = [{**schedule, "graph": True} for schedule in ranked]
    yield from (*graphs[:2], ranked[0], *graphs[2:])


def neighbours(
    program: Program,
    schedule: Schedule,
    steps: Callable[[Any, Knobs], Iterator[Knobs]],
    *,
    can_graph: bool,
) -> Iterator[Schedule]:
    """Yield schedules that differ from ``schedule`` in one step and all that are like it, as the
    blocks of a network are, the costliest first, or in whether forward is a CUDA graph, unless its
    copies take longer than the launches that it saves."""
    if schedule.get("graph"):
        yield {name: knobs for name, knobs in schedule.items() if name != "graph"}
    elif can_graph and _copies_s(program) < LAUNCH_S * len(program.steps):
        yield {**schedule, "graph": True}
    groups: dict[Own, list[Own]] = {}
    for step in program.own():
        groups.setdefault(anonymous(step, "step"), []).append(step)
    for alike in sorted(groups.values(), key=lambda steps: -sum(map(_cost, steps))):
        known = schedule[alike[0].name]
        for knobs in steps(alike[0], known):
            if knobs != known:
                yield {**schedule, **{step.name: dict(knobs) for step in alike}}


def distinct(
    schedules: Iterator[Schedule], emit: Callable[[Schedule], Emitted], *known: Schedule
) -> Iterator[Schedule]:
    """Yield the schedules whose text differs from that of all earlier and known ones."""
    seen: set[str] = {text_of(emit, schedule) for schedule in known}
    for schedule in schedules:
        text = text_of(emit, schedule)
        if text not in seen:
            seen.add(text)
            yield schedule


def _gains_by_graph(program: Program, schedule: Schedule) -> bool:
    """Return whether launching the steps takes the CPU longer than running them takes the GPU, or
    not much less. In the second case the first steps wait for the CPU, and a graph's copies in and
    out cost little beside that."""
    own = [(step, schedule[step.name]) for step in program.own()]
    n_split = sum(bool(_form(knobs)) for _, knobs in own)  # one operand each: the other is a weight
    n_launches = len(program.steps) + n_split
    own_s = sum(_cost(step) / QUICKER.get(_form(k), 1.0) for step, k in own)
    calls = [step for step in program.steps if isinstance(step, Call)]
    made = sum(4.0 * t.n_elements for step in calls for t in step.outputs if ".conv" in step.target)
    library_s = made / CONVOLVED_BYTES_S
    launches_s, device_s, copies_s = LAUNCH_S * n_launches, own_s + library_s, _copies_s(program)
    is_near = device_s < NEAR * launches_s and 3 * copies_s < launches_s
    return n_launches > 1 and (device_s + copies_s < launches_s or is_near)


def _copies_s(program: Program) -> float:
    """Return the seconds needed to copy a graph's inputs and outputs."""
    returned = set(references(program.outputs))
    made = [t for s in program.steps for t in (s.outputs if isinstance(s, Call) else s.writes)]
    moved = {t.name: bytes_of(t) for t in (*program.inputs, *made) if t.name in returned}
    moved |= {t.name: bytes_of(t) for t in program.inputs}
    return 2 * sum(moved.values()) / COPY_BYTES_S


def bytes_of(tensor: Tensor) -> float:
    """The bytes of a tensor in memory."""
    return float(tensor.n_elements * BYTES.get(tensor.dtype, 1))


def _form(knobs: Knobs) -> str:
    return str(knobs.get("precision", "")) if knobs.get("split") == "before" else ""


def _cost(step: Own) -> float:
    """Return a lower bound, in seconds, on a step's time; it orders steps."""
    if isinstance(step, Recurrence):
        return TIME_STEP_S * step.x.shape[1 if step.batch_first else 0]
    if isinstance(step, Attention):
        is_wide = BYTES.get(step.q.dtype, 1) >= 4
        flops = 4.0 * step.q.n_elements * step.k.shape[2]
        return flops / (FLOAT_FLOPS_S if is_wide else HALF_FLOPS_S)
    seconds = sum(map(bytes_of, (*step.reads, *step.writes))) / COPY_BYTES_S
    if isinstance(step, Contraction):
        points = size_of(step.batch) * size_of(step.m) * size_of(step.n) * size_of(step.k)
        is_wide = BYTES.get(step.a.tensor.dtype, 1) >= 4
        seconds = max(seconds, 2.0 * points / (FLOAT_FLOPS_S if is_wide else HALF_FLOPS_S))
    return seconds
