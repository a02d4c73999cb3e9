"""Whose code runs during a candidate's calls, seen from outside: it is stopped at random moments.

A profiler inside the candidate's process can be seen, forged and played to. Here ordinary calls
are stopped at moments drawn beforehand, and the kernel says where each thread stood.

Source:
    /proc/PID/task/TID/syscall and /proc/PID/maps: proc(5).
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernelwright.judge.child import Glance
from kernelwright.judge.oracle import TASK, Draw, Oracle, derive_seed
from kernelwright.judge.runner import Runner
from kernelwright.judge.sandbox import SYSTEM, visible_folders
from kernelwright.judge.timing import Stopwatch

OWN, LIBRARY = "own", "library"
NEUTRAL = (
    "python", "libpython", "libc.", "libc-", "libm.", "libm-", "libgomp", "libomp", "ld-",
    "libpthread", "libstdc++", "libgcc", "libffi", "_ctypes", "libdl", "librt", "libtorch_python",
    "libc10",
)  # fmt: skip
"""How the names of files begin whose code runs for own and library kernels alike: the
interpreter and torch's side of it, allocators, the C library, threads that wait for others."""
COMPILED = re.compile(r"/([a-z2-7]{2})/c\1[a-z2-7]{30,}[^/]*\.so$")
"""Where torch.compile puts its kernels: a library's work (torch/_inductor/codecache.py)."""
OWN_TEXT_BYTES = 8 << 20
"""More code than this in one file outside the system's folders is a copied library."""
N_LOOKS = 24  # a share of one half is then known to 0.2 at 95 %
FEWEST_LOOKS = 10
LOOKS_A_CALL = 8
GAP_NS = 1e6
"""Of a call's time for each look: going on after one takes a good part of that to be itself."""
BUDGET_S = 0.5
"""Of looking; twice that where almost nothing has been seen by then."""
SLOWER, SLOWER_NS = 3.0, 1_000_000
"""Calls that are looked at may take this much longer than timed ones: their caches grow cold."""
RUNNING = "-1"
"""In place of a system call's number: the thread ran code of its own."""


def shares(
    runner: Runner, oracle: Oracle, stopwatch: Stopwatch, *, timed_ns: float, seed: int
) -> tuple[float, float] | None:
    """The shares of own and of library code in a candidate's calls; None where too little was seen.

    The calls are made as timed ones are, on inputs as fresh, so that none is played to. Of each
    only the first look is a surprise: own code must have most of those too. Where own code ran,
    and took much longer than timed calls, it was for show.

    Units:
        ``timed_ns``: what a timed call took, in nanoseconds.
    Raises:
        OSError: this machine does not tell.
    """
    draw = random.Random(seed)
    whole_ns = timed_ns + stopwatch.overhead_ns
    n_looks = max(1, min(LOOKS_A_CALL, int(timed_ns / GAP_NS)))
    calls: list[list[str]] = []
    own_ns: list[int] = []
    memory: list[Span] = []

    def look(pid: int) -> None:
        at = whereabouts(pid)
        if any(not any(s.start <= a < s.end for s in memory) for a in at):
            memory[:] = spans(pid)
        calls[-1].append(whose(at, memory))

    start_s = time.monotonic()
    while not _is_enough(sum(map(_n_told, calls)), len(calls), time.monotonic() - start_s):
        moments = sorted(draw.uniform(0, whole_ns * 1e-9) for _ in range(n_looks))
        gaps = tuple(b - a for a, b in zip([0.0, *moments], moments, strict=False))
        calls.append([])
        arguments = oracle.arguments(Draw(TASK, derive_seed(seed, len(calls))))
        call = stopwatch.turn(runner, arguments, glance=Glance(gaps, look))
        if OWN in calls[-1]:
            own_ns.append(call.elapsed_ns)
        stopwatch.rest(runner)
    whole = _share([one for looks in calls for one in looks])
    first = _share([one for looks in calls for one in looks[:1]])
    if whole is None:
        return None
    if own_ns and min(own_ns) > SLOWER * timed_ns + SLOWER_NS:
        return 0.0, 1.0
    own = whole if first is None else min(whole, first)
    return own, 1 - own


def _is_enough(n_told: int, n_calls: int, spent_s: float) -> bool:
    if n_calls < 2 or n_told >= N_LOOKS:
        return n_told >= N_LOOKS
    return spent_s > (BUDGET_S if n_told >= FEWEST_LOOKS else 2 * BUDGET_S)


def _n_told(looks: list[str]) -> int:
    return len(looks) - looks.count("")


def _share(looks: list[str]) -> float | None:
    """The share of own code among those looks that saw somebody's."""
    return looks.count(OWN) / n if (n := _n_told(looks)) else None


@dataclass(frozen=True)
class Span:
    """A piece of executable memory, and whose it is; '' where it is nobody's in particular."""

    start: int
    end: int
    owner: str


def spans(pid: int) -> list[Span]:
    """The executable memory of a process.

    Raises:
        OSError: it is gone, or this machine does not tell.
    """
    library = (*SYSTEM, *visible_folders())
    found: list[tuple[int, int, str]] = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        addresses, rights, _, _, _, *path = line.split(maxsplit=5)
        if "x" in rights:
            start, end = (int(part, 16) for part in addresses.split("-"))
            found.append((start, end, path[0] if path else ""))
    text_bytes: dict[str, int] = {}
    for start, end, path in found:
        text_bytes[path] = text_bytes.get(path, 0) + end - start
    return [Span(start, end, owner(path, text_bytes[path], library)) for start, end, path in found]


def owner(path: str, text_bytes: int, library: Iterable[str]) -> str:
    """Whose the code of a mapped file is."""
    if os.path.basename(path).startswith(NEUTRAL) or path.startswith("["):
        return ""
    is_given = any(path.startswith(folder + "/") for folder in library)
    if is_given or COMPILED.search(path) or (path and text_bytes > OWN_TEXT_BYTES):
        return LIBRARY
    return OWN


def whereabouts(pid: int) -> list[int]:
    """The address at which each thread of a stopped process runs; not of those that wait.

    Raises:
        OSError: as for ``spans``.
    """
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        words = Path(f"/proc/{pid}/task/{thread}/syscall").read_text().split()
        if len(words) == 3 and words[0] == RUNNING:
            found.append(int(words[2], 16))
    return found


def whose(addresses: Iterable[int], memory: list[Span]) -> str:
    """Whose code ran at one moment: a library's, if any thread was in it."""
    seen = {
        span.owner for at in addresses for span in memory if span.start <= at < span.end
    }  # fmt: skip
    return LIBRARY if LIBRARY in seen else OWN if OWN in seen else ""
