"""Which knobs a product's Triton kernel gets: a model of Hopper prunes, the judge decides.

A product in bfloat16 parts waits for one of four things: the tensor cores, the drain between two
of the six products (Triton waits for each), operands from the L2 cache, or memory. The model takes
the largest, for as many programs as fit on a processor at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from kernelwright.propose.rules.emit.gpu_axes import size_of
from kernelwright.propose.rules.emit.gpu_schedule import N_PROCESSORS, Knobs, power_of_two
from kernelwright.propose.rules.emit.triton_split import rows_of
from kernelwright.propose.rules.ir import Contraction


class Tile(NamedTuple):
    """What a program computes at a time, and with how many warps and stages in flight."""

    m: int
    n: int
    k: int
    warps: int
    stages: int


WHOLE_TILES = (
    Tile(128, 128, 32, 8, 3),
    Tile(128, 64, 32, 4, 3),
    Tile(64, 128, 32, 4, 3),
    Tile(64, 64, 32, 4, 3),
    Tile(128, 256, 32, 8, 3),
    Tile(32, 64, 64, 4, 3),
    Tile(16, 64, 64, 4, 4),
    Tile(64, 16, 64, 4, 4),
    Tile(16, 16, 128, 4, 4),
)
SPLIT_TILES = (  # a total and a chunk of it in registers: 128 x 128 are all that 8 warps hold
    Tile(128, 128, 64, 8, 2),
    Tile(128, 128, 32, 8, 3),
    Tile(128, 128, 32, 8, 4),
    Tile(128, 64, 64, 4, 2),
    Tile(64, 128, 64, 4, 2),
    Tile(128, 64, 32, 4, 2),
    Tile(64, 128, 32, 4, 2),
    Tile(64, 64, 64, 4, 2),
    Tile(64, 64, 32, 4, 3),
    Tile(32, 64, 64, 4, 3),
    Tile(16, 64, 64, 4, 3),
    Tile(64, 16, 64, 4, 3),
    Tile(16, 16, 128, 4, 2),
)
WORTHWHILE = 2**28
"""Multiplications from which three parts pay off: tensor cores are what a product waits for."""
PRUNED = 1.6
"""A schedule that the model puts this many times above the best is not tried."""

TENSOR_FLOPS = 711e12 / N_PROCESSORS
"""bfloat16, a processor: torch.matmul at 8192 x 8192 x 8192, measured on an H200."""
COPY_BYTES_S = 4.28e12
"""Copying in memory, measured on an H200."""
CACHE_BYTES_S = 5.5e12 / N_PROCESSORS
"""From the L2 cache into a processor: Chips and Cheese, "Nvidia's H100" (2023), an H100 PCIe."""
DRAIN_S = 0.14e-6
"""A wait for a product to end: what 1.47 ms at 4096 x 4096 x 4096 in tiles of 128 x 128 x 32 leave
beside the tensor cores' time (H200)."""
LAUNCH_S = 3e-6
"""A kernel more on the GPU."""
SHARED_BYTES = 227 * 1024
REGISTERS = 65536
"""Of a processor: CUDA C++ programming guide, compute capability 9.0."""
OTHER_REGISTERS = 40
"""A thread's beside its sums: ptxas says 163 for 128 x 128 in 8 warps, of which 128 are sums."""
SPLIT_INSTRUCTIONS = 12
"""For an element that is split inside the loop: conversions, differences, shared memory."""
LANES_S = 128 * 1.7e9
"""Instructions a second and processor: 128 lanes at the clock of an H200 under load."""


def product_choices(step: Contraction, *, descriptors: bool = False) -> list[Knobs]:
    """Knobs for a contraction, the most promising first; ``descriptors``: whether the GPU has them
    (tiles are copied by hardware of its own)."""
    m, n, k = size_of(step.m), size_of(step.n), size_of(step.k)
    is_single = step.a.tensor.dtype == "float32"
    whole = _whole_choices(step, "ieee" if is_single else "native")
    if not is_single:
        return whole
    split = _split_choices(step, descriptors=descriptors)
    worthwhile = size_of(step.batch) * m * n * k >= WORTHWHILE
    return [*split, *whole] if worthwhile else [*whole, *split[:2]]


def _whole_choices(step: Contraction, precision: str) -> list[Knobs]:
    """Tiles that waste little and fill the GPU."""
    deepest = max(32, power_of_two(size_of(step.k)))
    tiles = [tile for tile in WHOLE_TILES if tile.k <= deepest]
    ranked = sorted(tiles, key=lambda tile: _whole_cost(step, tile))
    options = [{**_knobs(tile), "precision": precision} for tile in ranked[:2]]
    parts = _parts(step, ranked[0])
    return [{**options[0], "parts": parts}, *options] if parts > 1 else options


def _split_choices(step: Contraction, *, descriptors: bool) -> list[Knobs]:
    """The cheapest tiles by the model, split before and inside, with descriptors where they go."""
    tiles = [tile for tile in SPLIT_TILES if tile.k <= max(32, power_of_two(size_of(step.k)))]
    costs: dict[tuple[Tile, str], float] = {
        (tile, place): split_cost_s(step, tile, place)
        for tile in tiles
        for place in ("before", "inside")
    }
    limit = PRUNED * min(costs.values())
    ranked = sorted((key for key, cost in costs.items() if cost <= limit), key=costs.__getitem__)
    options: list[Knobs] = []
    for tile, place in ranked:
        knobs = {**_knobs(tile), "precision": "bf16x3_6", "split": place}
        parts = _parts(step, tile)
        knobs = {**knobs, "parts": parts} if parts > 1 else knobs
        options.append(knobs)
        if descriptors and place == "before" and _in_rows(step, tile):
            options.append({**knobs, "descriptors": True})
            if tile == ranked[0][0]:  # few operands in flight, so that more stages fit
                options.append({**knobs, "descriptors": True, "turns": True, "stages": 4})
    return options


def _in_rows(step: Contraction, tile: Tile) -> bool:
    block = {"m": tile.m, "n": tile.n, "k": tile.k}
    return all(rows_of(step, letter, block) for letter in "ab") and min(tile.m, tile.n) >= 64


def _knobs(tile: Tile) -> dict[str, Any]:
    return {
        "block_m": tile.m, "block_n": tile.n, "block_k": tile.k, "warps": tile.warps,
        "stages": tile.stages, "group": 8,
    }  # fmt: skip


def _n_tiles(step: Contraction, tile: Tile) -> int:
    m, n = size_of(step.m), size_of(step.n)
    return size_of(step.batch) * math.ceil(m / tile.m) * math.ceil(n / tile.n)


def _parts(step: Contraction, tile: Tile) -> int:
    """Into how many parts to cut k so that the GPU is full: parts of the same size if possible."""
    k = size_of(step.k)
    wanted = min(N_PROCESSORS // max(1, _n_tiles(step, tile)), k // 256)
    if wanted < 2 or len(step.k) != 1:
        return 1
    even = (parts for parts in range(wanted, wanted // 2, -1) if k % (64 * parts) == 0)
    return next(even, wanted)


def _whole_cost(step: Contraction, tile: Tile) -> float:
    """Waves of programs times the work of one, counting padding and thin tiles' poor reuse."""
    waves = math.ceil(_n_tiles(step, tile) / N_PROCESSORS)
    return waves * tile.m * tile.n * (1.0 + 64.0 / tile.m + 64.0 / tile.n)


def split_cost_s(step: Contraction, tile: Tile, place: str) -> float:
    """Seconds that the model gives a product in bfloat16 parts, split ``place`` ('before' by a
    kernel, 'inside' the loop); infinite where the tile does not fit."""
    together = _together(tile, place)
    if not together:
        return math.inf
    parts = _parts(step, tile)
    waves = math.ceil(_n_tiles(step, tile) * parts / (N_PROCESSORS * together))
    n_chunks = math.ceil(math.ceil(size_of(step.k) / parts) / tile.k)
    groups = max(1, tile.warps // 4)  # four warps feed the tensor cores together
    half = 2.0 if tile.m < 64 else 1.0  # below 64 rows Triton takes the older instructions
    alone_s = half * 12 * tile.m * tile.n * tile.k / TENSOR_FLOPS / groups
    bytes_in = (6 if place == "before" else 4) * (tile.m + tile.n) * tile.k
    split_s = SPLIT_INSTRUCTIONS * (tile.m + tile.n) * tile.k / LANES_S
    chunk_s = max(
        together * groups * alone_s,
        alone_s + 6 * DRAIN_S,
        together * bytes_in / CACHE_BYTES_S,
    ) + (together * split_s if place == "inside" else 0.0)
    operands = step.a.tensor.n_elements + step.b.tensor.n_elements
    results = sum(tensor.n_elements for tensor in step.writes)
    before_s = 10 * operands / COPY_BYTES_S + 2 * LAUNCH_S if place == "before" else 0.0
    moved_bytes = (6 if place == "before" else 4) * operands + 4 * results
    return max(waves * n_chunks * chunk_s, moved_bytes / COPY_BYTES_S) + before_s


def _together(tile: Tile, place: str) -> int:
    """Programs that one processor holds at a time; 0 where not even one fits."""
    threads = 32 * tile.warps
    registers = 2 * tile.m * tile.n // threads + OTHER_REGISTERS
    if registers > 255:
        return 0
    held_bytes = 6 * (tile.m + tile.n) * tile.k * tile.stages
    if place == "inside":
        held_bytes = 4 * (tile.m + tile.n) * tile.k * tile.stages + 6 * tile.n * tile.k
    return min(SHARED_BYTES // held_bytes, REGISTERS // (threads * registers))


def product_neighbours(
    step: Contraction, knobs: Knobs, *, descriptors: bool = False
) -> Iterator[Knobs]:
    """One knob changed: tiles by a factor of two, warps, stages, then where operands are split."""
    limits = {"block_m": (16, 256), "block_n": (16, 256), "block_k": (16, 128), "warps": (2, 8)}
    for name in ("block_n", "block_m", "warps", "block_k"):
        low, high = limits[name]
        for value in (knobs[name] * 2, knobs[name] // 2):
            changed = {**knobs, name: value}
            if low <= value <= high and _fits(changed):
                yield changed
    for stages in (knobs["stages"] + 1, knobs["stages"] - 1):
        changed = {**knobs, "stages": stages}
        if 2 <= stages <= 5 and _fits(changed):
            yield changed
    if not knobs.get("split"):
        return
    plain = {k: value for k, value in knobs.items() if k not in ("descriptors", "turns")}
    if knobs["split"] == "inside" or not knobs.get("descriptors"):
        yield {**plain, "split": "inside" if knobs["split"] == "before" else "before"}
    if knobs.get("turns"):
        yield {**plain, "descriptors": True, "stages": 2}
    elif knobs.get("descriptors"):
        yield plain
        yield {**knobs, "turns": True, "stages": 4}
    elif descriptors and knobs["split"] == "before" and _in_rows(step, _tile(knobs)):
        yield {**knobs, "descriptors": True}


def _tile(knobs: Knobs) -> Tile:
    names = ("block_m", "block_n", "block_k", "warps", "stages")
    return Tile(*(int(knobs[name]) for name in names))


def _fits(knobs: Knobs) -> bool:
    if knobs.get("turns"):
        held_bytes = 2 * (knobs["block_m"] + knobs["block_n"]) * knobs["block_k"] * knobs["stages"]
        return held_bytes <= SHARED_BYTES and _together(_tile({**knobs, "stages": 1}), "before") > 0
    if knobs.get("split"):
        return _together(_tile(knobs), knobs["split"]) > 0
    return knobs["block_m"] * knobs["block_n"] <= 2**15
