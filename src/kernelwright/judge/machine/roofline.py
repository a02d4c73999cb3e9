"""How fast a device is at all.

What claims to write its results faster than that did not write them, and is refused. What would
have to calculate faster than that does less than the reference, which may be its merit: how much
arithmetic a function needs at least is known for hardly any, so it is told and not refused.
"""

from __future__ import annotations

import math
import time

import torch

from kernelwright.judge.machine.outputs import Claim
from kernelwright.judge.machine.place import Place

N_FILLS = 30
MARGIN = 4.0
"""What one measurement may miss: calls cost time too, and candidates may write better."""
CACHED_SHARE = 0.25
"""Of the last-level cache: results that stay in it are written faster than to memory."""
N_COPIES, COPIED_CACHES = 8, 4
LARGE_BYTES, NEARLY, AT_MOST = 1 << 30, 0.75, 1.1
"""What is smaller takes time that no copy tells of. Under the judge's clock a GELU of 6.4 GB that
takes 3.03 ms on an H200, as a copy does, took 3.8. Who is faster than a copy need not move all, or
the copy was disturbed."""
N_PRODUCTS = 10
SIDE = {"cpu": 1024, "cuda": 4096}
"""Of the square matrices whose product shows how fast a device calculates."""
DOES_LESS = (
    "faster than the reference's own arithmetic at this device's highest rate: "
    "it does less work than the reference"
)


def peak_bytes_per_s(place: Place) -> float:
    """An upper bound on how many bytes a second can be written on the device."""
    n_bytes = int(place.last_level_cache_bytes() * CACHED_SHARE)
    buffer = torch.zeros(n_bytes, dtype=torch.uint8, device=place.name)
    best_s = float("inf")
    for _ in range(N_FILLS):
        place.settle()
        start_s = time.perf_counter()
        buffer.fill_(1)
        place.settle()
        best_s = min(best_s, time.perf_counter() - start_s)
    return MARGIN * n_bytes / best_s


class Copying:
    """The time in which a device copies as much as a task has to read and write.

    A setting that takes hardly longer leaves nothing to win, unless not all has to be read.
    """

    def __init__(self, place: Place, moved_bytes: int) -> None:
        self._place, self.moved_bytes = place, moved_bytes
        self._bytes_per_s = 0.0

    def told(self) -> dict[str, float]:
        """What is known of both; empty before ``measure``, and where memory was too short."""
        if not 0 < self._bytes_per_s < math.inf:
            return {}
        return {"moved_bytes": self.moved_bytes, "copied_bytes_per_s": self._bytes_per_s}

    def measure(self) -> None:
        """See how fast the device copies, once; nothing else may use it meanwhile."""
        if not self._bytes_per_s:
            self._bytes_per_s = copied_bytes_per_s(self._place)

    def least_ns(self, n_bytes: int) -> float:
        """How long it takes to read and write so many bytes; 0 where nothing was measured.

        Units:
            Nanoseconds.
        """
        return n_bytes / self._bytes_per_s * 1e9 if self._bytes_per_s else 0.0

    def leaves_nothing(self, timed_ns: float) -> str:
        """Why nothing can be won over this time; empty where something may be."""
        share = self.least_ns(self.moved_bytes) / timed_ns
        if not NEARLY <= share <= AT_MOST:
            return ""
        gigabytes = self.moved_bytes / 1e9
        return f"moves its {gigabytes:.1f} GB at {share:.0%} of the rate at which a copy does"


def copied_bytes_per_s(place: Place) -> float:
    """The bytes a second, read and written, of a large copy; infinite where memory is short."""
    n_bytes = min(LARGE_BYTES, COPIED_CACHES * place.last_level_cache_bytes())
    try:
        one, other = (torch.ones(n_bytes // 4, device=place.name) for _ in range(2))
    except (torch.OutOfMemoryError, RuntimeError):
        return float("inf")
    best_s = float("inf")
    for _ in range(N_COPIES):
        place.settle()
        start_s = time.perf_counter()
        other.copy_(one)
        place.settle()
        best_s = min(best_s, time.perf_counter() - start_s)
    return 2 * n_bytes / best_s


def least_ns(claims: list[Claim], like: list[torch.Tensor], bytes_per_s: float) -> float:
    """The time that writing these outputs takes at least.

    Units:
        Nanoseconds.
    Not covered:
        Reading the inputs: see ``reading``. Arithmetic: see ``Arithmetic``.
    """
    n_bytes = sum(
        min(claim.span, one.numel()) * one.element_size()
        for claim, one in zip(claims, like, strict=True)
    )
    return n_bytes / bytes_per_s * 1e9


def surely_ns(least_ns: float, library_ns: float) -> float:
    """The time that something takes at least, by a measured rate and by a library setting's time.

    Other work on a device slows a measurement of its rate, and what is too low a rate refuses
    honest kernels: the library's own time shows that it can do better.

    Units:
        Nanoseconds.
    """
    return min(least_ns, library_ns / MARGIN)


class Arithmetic:
    """The time that a reference's arithmetic takes at least; measured when it is first asked for.

    ``is_reduced``: a candidate may calculate in less than the precision of the outputs.

    Not covered:
        What the counter of operations does not know: all but products, convolutions, attention.
    """

    def __init__(
        self, place: Place, flops: float, outputs: list[torch.Tensor], *, is_reduced: bool = False
    ) -> None:
        self._place, self._flops = place, flops
        is_half = any(t.is_floating_point() and t.element_size() < 4 for t in outputs)
        # Wider types are calculated in parts of narrower ones at up to MARGIN times their own rate.
        self._dtype = torch.bfloat16 if is_half or is_reduced else torch.float32
        self._flops_per_s: float | None = None

    def exceeds(self, timed_ns: float, *, library_ns: float) -> bool:
        """Whether all of it cannot be done in this time, where the library takes the other."""
        if not self._flops:
            return False
        if self._flops_per_s is None:
            self._flops_per_s = peak_flops_per_s(self._place, self._dtype)
        return surely_ns(self._flops / self._flops_per_s * 1e9, library_ns) > timed_ns


def peak_flops_per_s(place: Place, dtype: torch.dtype) -> float:
    """An upper bound on the operations a second; infinite where there is no memory to see."""
    side = SIDE[place.kind]
    try:
        one, other, out = (torch.ones(side, side, dtype=dtype, device=place.name) for _ in range(3))
    except torch.OutOfMemoryError:
        return float("inf")
    best_s = float("inf")
    for _ in range(N_PRODUCTS):
        place.settle()
        start_s = time.perf_counter()
        torch.mm(one, other, out=out)
        place.settle()
        best_s = min(best_s, time.perf_counter() - start_s)
    return MARGIN * 2 * side**3 / best_s
