"""Sizes of composed tasks, one row per preset, so that their times are meaningful on the device."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.core.errors import UsageError, nearest


@dataclass(frozen=True)
class Sizes:
    """The lengths and limits that a family draws its axes from. Odd lengths are included, because
    kernels must not rely on powers of two."""

    elements: tuple[int, ...]
    """Approximate number of elements of the largest tensor."""
    columns: tuple[int, ...]
    """Lengths of long rows."""
    features: tuple[int, ...]
    """Features of a matrix product."""
    tokens: tuple[int, ...]
    """Rows of a matrix product, or positions of a sequence."""
    channels: tuple[int, ...]
    edges: tuple[int, ...]
    """Height and width of an image."""
    depths: tuple[int, ...]
    """Length of each edge of a volume."""
    work: int
    """Approximate limit on the multiplications of a task's products and convolutions."""
    unrolled: tuple[int, ...]
    """Number of steps of a recurrence."""


SIZES = {
    # For checking correctness: every kernel takes less time than its launch.
    "small": Sizes(
        elements=(2048, 4096),
        columns=(48, 64, 100, 128),
        features=(32, 48, 64),
        tokens=(16, 24, 32),
        channels=(8, 12, 16),
        edges=(10, 12, 16),
        depths=(6, 8),
        work=1 << 20,
        unrolled=(4, 6),
    ),
    # Between 0.2 and 20 ms in eager mode on a few CPU cores: far above the cost of a call.
    "cpu": Sizes(
        elements=(1 << 20, 1 << 21, 1 << 22, 1 << 23),
        columns=(384, 512, 768, 1000, 1024, 2048, 3000, 4096, 8192),
        features=(256, 384, 512, 768, 1000, 1024),
        tokens=(128, 256, 384, 512),
        channels=(16, 32, 48, 64, 96),
        edges=(28, 32, 48, 56, 64),
        depths=(12, 16, 24),
        work=1 << 29,
        unrolled=(8, 12, 16),
    ),
    # Between 20 us and 2 ms in eager mode on a large GPU: above the cost of a launch.
    "gpu": Sizes(
        elements=(1 << 22, 1 << 23, 1 << 24, 1 << 25, 1 << 26),
        columns=(768, 1000, 1024, 2048, 4096, 5000, 8192, 16384),
        features=(512, 768, 1000, 1024, 2048, 3072, 4096),
        tokens=(512, 1000, 1024, 2048),
        channels=(32, 48, 64, 96, 128, 256),
        edges=(32, 56, 64, 96, 112, 128),
        depths=(16, 24, 32),
        work=1 << 35,
        unrolled=(8, 16, 24),
    ),
}


def sizes_of(name: str) -> Sizes:
    """Return the row with this name.

    Raises:
        UsageError: no such size; the message names the nearest.
    """
    if name not in SIZES:
        raise UsageError(f'no size "{name}"', seen=name, do=nearest(name, SIZES))
    return SIZES[name]
