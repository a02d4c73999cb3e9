"""Schedules: how a lesson's kernels deal out their work. A policy learns those that are fast, and
reads others: one that has seen one alone has nothing to choose from when speed is what pays."""

from __future__ import annotations

import random
from dataclasses import dataclass

TILES = ((32, 16), (32, 32), (32, 64), (64, 16), (64, 32), (64, 64), (128, 16), (128, 32))
"""Of products, with the terms at a time: three stages of both operands fit the shared memory of
every GPU since Ampere (99 KB of one block: CUDA C++ programming guide, compute capability 8.6)."""

QUICK_TILES = ((128, 32, 8), (128, 32, 8), (128, 16, 8), (128, 16, 8), (64, 32, 4))
"""With the warps. On an H200 products took 1.15 times as long as the fastest of their task with the
larger ones, 1.46 times with the other, with others up to 7.3 (benchmarks/training_schedules.py)."""


@dataclass(frozen=True)
class Schedule:
    """Of all the kernels of one answer."""

    block: int = 1024
    """Elements of a program at a time, where they lie one after the other."""
    columns: int = 128
    """Neighbouring columns of a program that goes down them."""
    windows: int = 256
    """Results of a program that pools."""
    warps: int = 4
    """Of all these."""
    row_warps: int = 4
    """Of a program that holds a whole row."""
    tile: int = 64
    """Rows and columns of a product's result that are one program's."""
    terms: int = 32
    """Of a product, added at a time."""
    precision: str = "ieee"
    """Of a product's factors: 'tf32x3' splits each in two, and errs as little."""
    tile_warps: int = 4
    stages: int = 3
    """Reads of a product's operands that are under way."""

    @classmethod
    def quick(cls, draw: random.Random) -> Schedule:
        """One of those that were fast."""
        tile, terms, tile_warps = draw.choice(QUICK_TILES)
        return cls(
            block=draw.choice((1024, 2048, 4096)),
            columns=draw.choice((32, 64, 128)),
            windows=draw.choice((256, 512, 1024)),
            warps=draw.choice((4, 8)),
            row_warps=draw.choice((4, 8)),
            tile=tile,
            terms=terms,
            precision="tf32x3",
            tile_warps=tile_warps,
            stages=3,
        )

    @classmethod
    def drawn(cls, draw: random.Random) -> Schedule:
        """Any, each as likely."""
        tile, terms = draw.choice(TILES)
        return cls(
            block=draw.choice((256, 512, 1024, 2048, 4096)),
            columns=draw.choice((32, 64, 128, 256)),
            windows=draw.choice((128, 256, 512, 1024)),
            warps=draw.choice((2, 4, 8)),
            row_warps=draw.choice((4, 8, 16)),
            tile=tile,
            terms=terms,
            precision=draw.choice(("ieee", "tf32x3")),
            tile_warps=draw.choice((4, 8)),
            stages=draw.choice((2, 3)),
        )

    def of(self, block: int) -> str:
        """The end of a launch of programs that take so many elements at a time."""
        return f"BLOCK={block}, num_warps={self.warps}"

    def along(self, length: str) -> str:
        """The end of a launch of programs that go along so many elements, a block at a time."""
        block = f"min(triton.next_power_of_2({length}), {self.block})"
        return f"BLOCK={block}, num_warps={self.warps}"

    def row(self, length: str) -> str:
        """The end of a launch of programs that hold so many elements at once."""
        return f"BLOCK=triton.next_power_of_2({length}), num_warps={self.row_warps}"

    @property
    def of_tiles(self) -> str:
        """The end of a product's launch."""
        told = f"num_warps={self.tile_warps}, num_stages={self.stages}"
        return f"BLOCK={self.tile}, {told}"
