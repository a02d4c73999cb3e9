"""A device's highest rates of memory and arithmetic, measured.

A candidate that claims to write its results faster than the device can did not write them, and is
refused. One that would have to calculate faster than the device can does less work than the
reference. That may be its merit, since the least arithmetic is known for hardly any function, so
the verdict says so and does not refuse it.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable

import torch

from kernelwright.judge.devices.backend import DeviceBackend

MARGIN = 4.0
"""The factor by which a measured rate may be too low: calls cost time too, and candidates may write
better."""
CACHED_SHARE = 0.25
"""The share of the last-level cache that is written to measure the rate: results that stay in the
cache are written faster than to memory."""
READ_CACHES = {"cpu": 0.25, "cuda": 4.0}
"""The last-level caches that are read to measure the rate. On a GPU starting a kernel takes
as long as reading a quarter of the cache."""
COPIED_CACHES = 4
LARGE_BYTES, NEARLY, AT_MOST = 1 << 30, 0.75, 1.1
"""From how many bytes on the rate of a copy says something of a task, and between which shares of
that rate nothing is left to win. Smaller tasks spend their time on other things. Under the judge's
clock a GELU of 6.4 GB that takes 3.03 ms on an H200, as a copy does, took 3.8. A setting that is
faster than a copy need not move everything, or the copy was disturbed."""
SIDE = {"cpu": 1024, "cuda": 4096}
"""The side of the square matrices whose product shows how fast a device calculates."""
DOES_LESS = (
    "faster than the reference's own arithmetic at this device's highest rate: "
    "it does less work than the reference"
)


def best_s(backend: DeviceBackend, n_times: int, work: Callable[[], object]) -> float:
    """The shortest of some times of work on the device, in seconds."""
    found_s = math.inf
    for _ in range(n_times):
        backend.settle()
        start_s = time.perf_counter()
        work()
        backend.settle()
        found_s = min(found_s, time.perf_counter() - start_s)
    return found_s


def written_bytes_per_s(backend: DeviceBackend) -> float:
    """An upper bound on how many bytes a second can be written on the device."""
    n_bytes = int(backend.last_level_cache_bytes() * CACHED_SHARE)
    buffer = torch.zeros(n_bytes, dtype=torch.uint8, device=backend.name)
    return MARGIN * n_bytes / best_s(backend, 30, lambda: buffer.fill_(1))


def read_bytes_per_s(backend: DeviceBackend) -> float:
    """An upper bound on how many bytes a second can be read; infinite where memory is short."""
    n_bytes = int(backend.last_level_cache_bytes() * READ_CACHES[backend.kind])
    try:
        buffer = torch.ones(n_bytes // 4, device=backend.name)
    except torch.OutOfMemoryError:
        return math.inf
    return MARGIN * n_bytes / best_s(backend, 10, buffer.sum)


def copied_bytes_per_s(backend: DeviceBackend) -> float:
    """The bytes a second, read and written, of a large copy; infinite where memory is short."""
    n_bytes = min(LARGE_BYTES, COPIED_CACHES * backend.last_level_cache_bytes())
    try:
        one, other = (torch.ones(n_bytes // 4, device=backend.name) for _ in range(2))
    except RuntimeError:
        return math.inf
    return 2 * n_bytes / best_s(backend, 8, lambda: other.copy_(one))


def peak_flops_per_s(backend: DeviceBackend, dtype: torch.dtype) -> float:
    """An upper bound on the operations a second; infinite where memory is too short to measure."""
    side = SIDE[backend.kind]
    try:
        one, other, out = (
            torch.ones(side, side, dtype=dtype, device=backend.name) for _ in range(3)
        )
    except torch.OutOfMemoryError:
        return math.inf
    return MARGIN * 2 * side**3 / best_s(backend, 10, lambda: torch.mm(one, other, out=out))


def surely_ns(least_ns: float, library_ns: float) -> float:
    """A lower bound on a time, from a measured rate and from a library setting's own time.

    Other work on a device slows a measurement of its rate, and a rate that is too low would refuse
    honest kernels. The library's own time shows that the device can do better.
    """
    return min(least_ns, library_ns / MARGIN)


class Copying:
    """The time in which a device copies as many bytes as a task has to read and write.

    A setting that takes hardly longer leaves nothing to win, unless not all must be read.
    """

    def __init__(self, backend: DeviceBackend, moved_bytes: int) -> None:
        self._backend, self.moved_bytes = backend, moved_bytes
        self._bytes_per_s = 0.0

    def facts(self) -> dict[str, float]:
        """The bytes and the rate; empty before ``measure``, and where memory was too short."""
        if not 0 < self._bytes_per_s < math.inf:
            return {}
        return {"moved_bytes": self.moved_bytes, "copied_bytes_per_s": self._bytes_per_s}

    def measure(self) -> None:
        """Measure how fast the device copies, once; nothing else may use it meanwhile."""
        self._bytes_per_s = self._bytes_per_s or copied_bytes_per_s(self._backend)

    def least_ns(self, n_bytes: int) -> float:
        """The time that it takes to read and write so many bytes; 0 where nothing was measured."""
        return n_bytes / self._bytes_per_s * 1e9 if self._bytes_per_s else 0.0

    def leaves_nothing(self, timed_ns: float) -> str:
        """Why no candidate can be much faster than this; empty where one may be."""
        share = self.least_ns(self.moved_bytes) / timed_ns
        if not NEARLY <= share <= AT_MOST:
            return ""
        gigabytes = self.moved_bytes / 1e9
        return f"moves its {gigabytes:.1f} GB at {share:.0%} of the rate at which a copy does"


class Arithmetic:
    """The time that a reference's arithmetic takes at least; measured when it is first asked for.

    ``is_reduced``: a candidate may calculate in less than the precision of the outputs.

    Not covered:
        Operators that the counter does not know: all but products, convolutions, attention.
    """

    def __init__(
        self,
        backend: DeviceBackend,
        flops: float,
        outputs: list[torch.Tensor],
        *,
        is_reduced: bool = False,
    ) -> None:
        self._backend, self._flops = backend, flops
        is_half = any(t.is_floating_point() and t.element_size() < 4 for t in outputs)
        # Wider types are calculated in parts of narrower ones at up to MARGIN times their own rate.
        self._dtype = torch.bfloat16 if is_half or is_reduced else torch.float32

    @functools.cached_property
    def _flops_per_s(self) -> float:
        return peak_flops_per_s(self._backend, self._dtype)

    def exceeds(self, timed_ns: float, *, library_ns: float) -> bool:
        """True if all of it cannot be done in this time; the library takes ``library_ns``."""
        if not self._flops:
            return False
        return surely_ns(self._flops / self._flops_per_s * 1e9, library_ns) > timed_ns
