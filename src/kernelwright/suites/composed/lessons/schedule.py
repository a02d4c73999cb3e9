"""Schedules: how a lesson's kernels divide their work among programs.

A policy learns the fast schedules and reads others: a policy that has seen only one has nothing to
choose from when speed is rewarded. The kernels of all schedules are one text below another schedule
line (``core.schedule_line``).
"""

from __future__ import annotations

import random
import re
from dataclasses import asdict, dataclass

from kernelwright.core import schedule_line

TERMS = ("TERMS: tl.constexpr", "PRECISION: tl.constexpr")
TILES = ("WIDE: tl.constexpr", *TERMS)
"""Further parameters of a kernel that adds up products: the columns of a tile, terms at a time,
and their precision."""
OF_TILES = "TILE_N, TERMS, PRECISION, BLOCK=TILE_M, num_warps=TILE_WARPS, num_stages=STAGES"
"""The end of a product's launch."""
SHAPES = (
    *((32, 32, terms) for terms in (16, 32, 64)), *((64, 64, terms) for terms in (16, 32, 64)),
    *((128, 128, terms) for terms in (16, 32)), (32, 64, 32), (64, 32, 32), (128, 32, 32),
    (64, 128, 16), (64, 128, 32), (128, 64, 16), (128, 64, 32), (128, 256, 16), (256, 128, 16),
)  # fmt: skip
"""Tiles of products with the number of terms at a time: three stages of both operands fit the
shared memory of every GPU since Ampere (99 KB per block: CUDA C++ programming guide, compute
capability 8.6)."""

QUICK_TILES = ((128, 32, 8), (128, 32, 8), (128, 16, 8), (128, 16, 8), (64, 32, 4))
"""Tiles with terms and warps. On an H200, products took 1.15 times as long as the fastest of their
task with the larger tiles, 1.46 times with the other, and up to 7.3 times with others
(benchmarks/training_schedules.py)."""


@dataclass(frozen=True)
class Schedule:
    """The schedule of all kernels of one answer."""

    elements: int = 1024
    """Elements that a program processes at a time, where they are contiguous."""
    columns: int = 128
    """Neighbouring columns of a program that loops down them."""
    windows: int = 256
    """Results of a program that pools."""
    warps: int = 4
    """Warps of the programs above."""
    row_warps: int = 4
    """Warps of a program that holds a whole row."""
    tile_m: int = 64
    """Rows of a product's result per program."""
    tile_n: int = 64
    """Columns of a product's result per program."""
    terms: int = 32
    """Terms of a product that are added at a time."""
    precision: str = "ieee"
    """Precision of a product's factors: 'tf32x3' splits each in two, and is as accurate as
    'ieee'."""
    tile_warps: int = 4
    stages: int = 3
    """Loads of a product's operands in flight."""

    @classmethod
    def quick(cls, draw: random.Random) -> Schedule:
        """Draw one of the schedules that were fast."""
        tile, terms, tile_warps = draw.choice(QUICK_TILES)
        return cls(
            elements=draw.choice((1024, 2048, 4096)),
            columns=draw.choice((32, 64, 128)),
            windows=draw.choice((256, 512, 1024)),
            warps=draw.choice((4, 8)),
            row_warps=draw.choice((4, 8)),
            tile_m=tile,
            tile_n=tile,
            terms=terms,
            precision="tf32x3",
            tile_warps=tile_warps,
            stages=3,
        )

    @classmethod
    def drawn(cls, draw: random.Random) -> Schedule:
        """Draw any schedule, all equally likely."""
        tile_m, tile_n, terms = draw.choice(SHAPES)
        return cls(
            elements=draw.choice((256, 512, 1024, 2048, 4096)),
            columns=draw.choice((32, 64, 128, 256)),
            windows=draw.choice((128, 256, 512, 1024)),
            warps=draw.choice((2, 4, 8)),
            row_warps=draw.choice((4, 8, 16)),
            tile_m=tile_m,
            tile_n=tile_n,
            terms=terms,
            precision=draw.choice(("ieee", "tf32x3")),
            tile_warps=draw.choice((4, 8)),
            stages=draw.choice((2, 3)),
        )

    def line(self, code: str) -> str:
        """Return the schedule line for the names that the code reads."""
        values = {name.upper(): value for name, value in asdict(self).items()}
        used = {name: values[name] for name in values if re.search(rf"\b{name}\b", code)}
        return schedule_line.written(used)


def blocks_of(knob: str) -> str:
    """Return the end of a launch whose programs process so many elements at a time."""
    return f"BLOCK={knob}, num_warps=WARPS"


def looping(length: str) -> str:
    """Return the end of a launch whose programs loop over ``length`` elements, block by block."""
    return f"BLOCK=min(triton.next_power_of_2({length}), ELEMENTS), num_warps=WARPS"


def whole_row(length: str) -> str:
    """Return the end of a launch whose programs hold ``length`` elements at once."""
    return f"BLOCK=triton.next_power_of_2({length}), num_warps=ROW_WARPS"
