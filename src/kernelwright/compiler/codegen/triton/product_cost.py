"""The cost of a float32 product in parts: a model of Hopper, fitted to measurements.

A processor runs as many programs at a time as fit. Several programs together wait for the tensor
cores, or for operands from the L2 cache. One program alone also waits at every block of k: for its
products to end, and for the next block if only two stages are in flight.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import NamedTuple

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS
from kernelwright.compiler.codegen.triton.parts import FORMS, Form
from kernelwright.compiler.codegen.triton.split import rows_of
from kernelwright.compiler.ir.ir import Contraction, Load


class Tile(NamedTuple):
    """The tile that a program computes at a time, with its number of warps and of stages in
    flight."""

    m: int
    n: int
    k: int
    warps: int
    stages: int


class Way(NamedTuple):
    """The way in which a program gets its operands in parts."""

    place: str
    """Where operands are split: 'before' by a kernel of its own, or 'inside' the loop."""
    descriptors: bool = False
    """Whether hardware (TMA) copies tiles by descriptor (with 'before' only)."""
    precision: str = "bf16x3_6"
    """The form of the parts; scaled parts are split before."""

    @property
    def form(self) -> Form:
        return FORMS[self.precision]

    @property
    def element_bytes(self) -> int:
        """Bytes that the loop reads per element."""
        return 2 * self.form.n if self.place == "before" else 4

    @property
    def split_bytes(self) -> int:
        """Bytes read and written to split an element beforehand; scaled elements are read twice."""
        return self.element_bytes + (8 if self.form.is_scaled else 4)


TENSOR_FLOPS = 711e12 / N_PROCESSORS
"""bfloat16 FLOP/s per processor: torch.matmul at 8192 x 8192 x 8192, measured on an H200."""
COPY_BYTES_S = 4.28e12
"""Bytes per second of a copy in memory, measured on an H200."""
CACHE_BYTES_S = 10.5e12 / N_PROCESSORS
"""Bytes per second from the L2 cache into a processor: the rate of a product that read every part
twice (H200)."""
LAUNCH_S = 3e-6
"""Seconds that one more kernel takes on the GPU."""
SHARED_BYTES = 227 * 1024
REGISTERS = 65536
"""Registers of a processor: CUDA C++ programming guide, compute capability 9.0."""
OTHER_REGISTERS = 40
"""Registers of a thread besides its sums: ptxas reports 163 for 128 x 128 in 8 warps, of which 128
are sums."""
LANES_S = 128 * 1.7e9
"""Instructions per second and processor: 128 lanes at the clock of an H200 under load."""

# The other constants are fitted to the times in tests/null/emit_gpu/test_product_cost.py.
DRAIN_S = 0.02e-6
"""Seconds that a block waits for one of its products to end, if no other program fills the gap."""
LATE_S = 0.55e-6
"""Seconds that a block waits for its operands with two stages."""
DESCRIPTOR_S = 0.14e-6
"""Seconds by which a block copied by descriptor arrives later."""
START_S = 0.8e-6
"""Seconds of a program's first and last instructions."""
FILL_S = 1.6e-6
"""Seconds that a program waits to fill every stage before its first product."""
COPY_INSTRUCTIONS = 3.8
"""Instructions per 16 bytes of a block that are loaded by pointer."""
SPLIT_INSTRUCTIONS = 12
"""Instructions per element that is split inside the loop: conversions, differences, shared
memory."""
GATHER_INSTRUCTIONS = 120
"""Instructions per element that is loaded individually. Measured inside the loop, with rows of odd
length. Gathering from three parts is assumed to cost the same, so that convolutions are first tried
split beforehand, like the one that won on an H200 (1.88 times the library)."""
SUM_INSTRUCTIONS = 2.2
"""Instructions per sum of a block of scaled parts: a zero to start from, and an addition."""
NARROW = 1.22
"""Slowdown of products of fewer than 128 columns: shared memory feeds the tensor cores too
slowly."""
OLD = 2.0
"""Slowdown of products of fewer than 64 rows, for which Triton uses the instructions of earlier
GPUs. A guess."""


def split_cost_s(step: Contraction, tile: Tile, way: Way, *, kept: Set[str] = frozenset()) -> float:
    """Return the model's time, in seconds, of a product in bfloat16 parts; infinite if the tile
    does not fit.

    ``kept`` names tensors that stay the same from call to call, and so are split once.
    """
    parts = parts_of_k(step, tile)
    n_chunks = math.ceil(math.ceil(size_of(step.k) / parts) / tile.k)
    together = programs_together(tile, way, n_chunks)
    if not together:
        return math.inf
    n_full, n_left = divmod(n_tiles(step, tile) * parts, N_PROCESSORS * together)
    waves_s = n_full * _wave_s(step, tile, way, n_chunks, together)
    if n_left:
        waves_s += _wave_s(step, tile, way, n_chunks, math.ceil(n_left / N_PROCESSORS))
    operands = (step.a.tensor, step.b.tensor)
    n_operands = sum(tensor.n_elements for tensor in operands)
    n_results = sum(tensor.n_elements for tensor in step.writes)
    moved_bytes = way.element_bytes * n_operands + 4 * n_results
    before_s = 0.0
    for tensor in operands if way.place == "before" else ():
        if tensor.name not in kept:
            n_kernels = 3 if way.form.is_scaled else 1
            before_s += way.split_bytes * tensor.n_elements / COPY_BYTES_S + n_kernels * LAUNCH_S
    return max(waves_s, moved_bytes / COPY_BYTES_S) + before_s


def _wave_s(step: Contraction, tile: Tile, way: Way, n_chunks: int, n_programs: int) -> float:
    """Return the seconds that a processor needs for ``n_programs`` at a time."""
    slower = (OLD if tile.m < 64 else 1.0) * (NARROW if tile.n < 128 else 1.0)
    read_bytes = way.element_bytes * (tile.m + tile.n) * tile.k
    n_products = len(way.form.products)
    busy_s = slower * 2 * n_products * tile.m * tile.n * tile.k / TENSOR_FLOPS
    busy_s += _instructions(step, tile, way, read_bytes) / LANES_S
    busy_s += SUM_INSTRUCTIONS * tile.m * tile.n / LANES_S if way.form.is_scaled else 0.0
    # The sums of scaled parts do not wait for each other, and hide a late descriptor.
    alone_s = busy_s + (1 if way.form.is_scaled else n_products) * DRAIN_S
    alone_s += LATE_S if tile.stages == 2 else 0.0
    alone_s += DESCRIPTOR_S if way.descriptors and not way.form.is_scaled else 0.0
    return max(
        n_programs * n_chunks * busy_s,
        START_S + min(tile.stages - 1, n_chunks) * FILL_S + n_chunks * alone_s,
        n_programs * n_chunks * read_bytes / CACHE_BYTES_S,
    )


def _instructions(step: Contraction, tile: Tile, way: Way, read_bytes: int) -> float:
    """Return the instructions of a block, besides its products."""
    count = 0.0 if way.descriptors else COPY_INSTRUCTIONS * read_bytes / 16
    block = {"m": tile.m, "n": tile.n, "k": tile.k}
    for letter, load, side in (("a", step.a, tile.m), ("b", step.b, tile.n)):
        in_rows = way.place == "before" and rows_of(step, letter, block)
        count += SPLIT_INSTRUCTIONS * side * tile.k if way.place == "inside" else 0
        count += 0 if in_rows or _is_aligned(load) else GATHER_INSTRUCTIONS * side * tile.k
    return count


def _is_aligned(load: Load) -> bool:
    """Return whether four neighbours in memory can be loaded at a time."""
    steps = sorted(abs(step) for _, step in load.index.terms)
    is_matrix = not load.bounds and steps.count(1) == 1
    return is_matrix and all(step % 4 == 0 for step in (*steps[1:], load.index.offset))


def programs_together(tile: Tile, way: Way, n_chunks: int = 8) -> int:
    """Return the number of programs that one processor holds at a time; 0 if not even one fits, or
    if eight warps share 64 rows, which took three times as long."""
    threads = 32 * tile.warps
    # the total, a block's sum, and the sum of the low parts
    n_sums = 3 if way.form.is_scaled else 2
    registers = n_sums * tile.m * tile.n // threads + OTHER_REGISTERS
    if registers > 255 or 64 <= tile.m < 16 * tile.warps:
        return 0
    held_bytes = way.element_bytes * (tile.m + tile.n) * tile.k * min(tile.stages, n_chunks)
    if way.place == "inside":
        held_bytes += 2 * way.form.n * tile.n * tile.k
    return min(SHARED_BYTES // held_bytes, REGISTERS // (threads * registers))


def n_tiles(step: Contraction, tile: Tile) -> int:
    """Return the number of tiles of the product's results."""
    m, n = size_of(step.m), size_of(step.n)
    n_groups = step.groups.ends.shape[0] if step.groups else 1
    rows = n_groups * math.ceil(m / n_groups / tile.m)
    return size_of(step.batch) * rows * math.ceil(n / tile.n)


def parts_of_k(step: Contraction, tile: Tile) -> int:
    """Return the number of parts to cut k into so that the GPU is full, of equal size if
    possible."""
    k = size_of(step.k)
    wanted = min(N_PROCESSORS // max(1, n_tiles(step, tile)), k // 256)
    if wanted < 2 or len(step.k) != 1:
        return 1
    even = (parts for parts in range(wanted, wanted // 2, -1) if k % (64 * parts) == 0)
    return next(even, wanted)
