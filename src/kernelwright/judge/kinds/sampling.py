"""Whose code runs during a candidate's calls, seen from outside: it is stopped at random moments.

A profiler inside the candidate's process can be seen, forged and played to. Here ordinary calls
are stopped at moments drawn beforehand, and the kernel says where each thread stood.

Source:
    /proc/PID/task/TID/syscall and /proc/PID/maps: proc(5).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from kernelwright.judge.sandbox.child import SampleTimes
from kernelwright.judge.sandbox.isolation import SYSTEM, visible_folders
from kernelwright.judge.sandbox.process_memory import Mapped, mapped, read_process
from kernelwright.judge.sandbox.processes import beside

OWN, LIBRARY = "own", "library"
MADE = "made"
"""Code in no file, which somebody wrote while running: oneDNN its convolutions, or a candidate."""
LENT = "lent"
"""Code of the C library, which does what its caller asks for: own kernels may be one memcpy."""
STACK_BYTES = 8192
"""Of a thread's stack, in which the one who called such code is looked for: oneDNN's kernels keep
less than half of that for themselves."""
C_LIBRARY = ("libc.", "libc-", "libm.", "libm-", "libmvec")
NEUTRAL = (
    "python", "libpython", "libgomp", "libomp", "ld-", "libpthread", "libstdc++", "libgcc",
    "libffi", "_ctypes", "libdl", "librt", "libtorch_python", "libc10",
)  # fmt: skip
"""How the names of files begin whose code runs for own and library kernels alike: the
interpreter and torch's side of it, allocators, threads that wait for others."""
MODULES = "/lib-dynload/"
"""Where the interpreter has those of its own modules that are not compiled into it: the worker's
answers are packed by ``array`` and ``_json``."""
COMPILED = re.compile(r"/([a-z2-7]{2})/c\1[a-z2-7]{30,}[^/]*\.so$")
"""Where torch.compile puts its kernels: a library's work (torch/_inductor/codecache.py)."""
OWN_TEXT_BYTES = 8 << 20
"""More than this in files with code outside the system's folders, and of code in none, is a copied
library: it may have been cut in pieces, of which only those that are needed may be run."""
KERNELS = ("[vdso]", "[vsyscall]", "[uprobes]")
"""Code that the kernel lends to every process; in a heap or a stack it is the process's own."""
LARGE_SHARE = 0.5
"""Of the time that own code must take to be called a kernel."""
NOTICEABLE_SHARE = 0.2
"""Of the time that library code must take to be named as well."""
FEWEST_SAMPLES, MOST_SAMPLES = 12, 64
"""That saw somebody's code. More calls are made until there are the fewest, and until it is clear
which labels follow or there are the most, within BUDGET_S."""
SAMPLES_A_CALL = 8
GAP_NS = 1e6
"""Of a call's time for each look: going on after one takes a good part of that to be itself."""
SAMPLE_SHARE, LATER_SAMPLE_SHARE = 0.5, 0.2
"""Of the rounds in which the candidate's call is looked at and nothing is timed, until enough was
seen, and then."""
BUDGET_S = 1.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
RUNNING = "-1"
"""In place of a system call's number: the thread ran code of its own."""


class StackSampler:
    """Samples of the stacks of one candidate's threads.

    They stand in rounds among the timed ones, and are made like those (of a first look they come
    after its rounds: a winner is measured again): a candidate that did something else in them
    would do it when it is timed. Of each only the first look is a surprise, so every other call
    has one look alone, at any moment of it, and own code must have most of those too; in short
    calls all looks are alone.
    """

    def __init__(self, seed: int, given: Sequence[tuple[int, int, str]] = ()) -> None:
        """``given``: the files that were mapped before anything of the candidate's ran."""
        self._given = given
        self._draw = random.Random(seed)
        self._calls: list[list[str]] = []
        self._single: list[list[str]] = []
        """Those of them that were made for one look."""
        self._memory: list[Span] = []
        self.is_possible = True

    def sample_times(self, expected_ns: float) -> SampleTimes:
        """The moments at which a call of about this length is stopped, drawn at random."""
        is_alone = len(self._calls) % 2 == 0
        n_samples = 1 if is_alone else max(1, min(SAMPLES_A_CALL, int(expected_ns / GAP_NS)))
        moments = sorted(self._draw.uniform(0, expected_ns * 1e-9) for _ in range(n_samples))
        self._calls.append([])
        if n_samples == 1:
            self._single.append(self._calls[-1])
        return SampleTimes(
            tuple(b - a for a, b in zip([0.0, *moments], moments, strict=False)), self._sample
        )

    @property
    def n_told(self) -> int:
        """How many looks saw somebody's code."""
        return sum(len(looks) - looks.count("") for looks in self._calls)

    @property
    def n_against(self) -> int:
        """How many more saw a library's code than own code."""
        seen = [one for looks in self._calls for one in looks]
        return seen.count(LIBRARY) - seen.count(OWN)

    @property
    def is_nobodys(self) -> bool:
        """Whether enough looks were taken, and none saw own code."""
        seen = [one for looks in self._calls for one in looks]
        return len(seen) >= FEWEST_SAMPLES and OWN not in seen

    def is_due(self, coin: random.Random) -> bool:
        """Whether a round is to be for one."""
        share = SAMPLE_SHARE if self.n_told < FEWEST_SAMPLES else LATER_SAMPLE_SHARE
        return coin.random() < share

    @property
    def is_enough(self) -> bool:
        """Whether more samples would say no more."""
        n_told = self.n_told
        is_clear = n_told >= FEWEST_SAMPLES and all(map(_is_clear, self._both))
        return n_told >= MOST_SAMPLES or is_clear

    def shares(self) -> tuple[float, float]:
        """The shares of own and of library code; some must have been seen."""
        own = min(share for share in map(_share, self._both) if share is not None)
        return own, 1 - own

    @property
    def _both(self) -> tuple[list[str], list[str]]:
        """All samples, and those that were alone in their calls."""
        return list(itertools.chain(*self._calls)), list(itertools.chain(*self._single))

    def _sample(self, pid: int) -> None:
        try:
            if beside(pid):  # whose work they do cannot be seen here
                self._calls[-1].append(LIBRARY)
                return
            at = whereabouts(pid)
            if any(span_of(address, self._memory) is None for address, _ in at):
                self._learn(pid)
            seen = whose([answerable(pid, *place, self._memory) for place in at], self._memory)
        except OSError:
            self.is_possible = False
        else:
            self._calls[-1].append(seen)

    def _learn(self, pid: int) -> None:
        """See what is mapped now."""
        self._memory = spans(list(mapped(pid)), self._given)


def _share(looks: list[str]) -> float | None:
    """The share of own code among those looks that saw somebody's."""
    n_told = len(looks) - looks.count("")
    return looks.count(OWN) / n_told if n_told else None


def _is_clear(looks: list[str]) -> bool:
    """Whether own code has more or less of what was seen than each label asks for, by two standard
    deviations."""
    n_told = len(looks) - looks.count("")
    return all(
        abs(looks.count(OWN) - n_told * share) > 2 * math.sqrt(n_told * share * (1 - share))
        for share in (LARGE_SHARE, 1 - NOTICEABLE_SHARE)
    )


@dataclass(frozen=True)
class Span:
    """A piece of executable memory, and whose it is; '' where it is nobody's in particular."""

    start: int
    end: int
    owner: str


def spans(parts: Sequence[Mapped], given: Sequence[tuple[int, int, str]] = ()) -> list[Span]:
    """The executable memory of a process with these parts."""
    library = (*SYSTEM, *visible_folders())
    known = [(start, end) for start, end, path in given if _owner(path, library) == LIBRARY]
    known += extents([part for part in parts if _owner(part.path, library) == LIBRARY])
    # What may be written as well is made while it runs, or a stack: nobody's file says what it is.
    written = {part.start for part in parts if "wx" in part.rights}
    whole = [(part.start, part.end, part.path) for part in parts]
    run = [place for place, part in zip(whole, parts, strict=True) if "x" in part.rights]
    found = [
        replace(span, owner=MADE) if span.owner == OWN and span.start in written else span
        for span in owned(run, library, whole)
    ]
    return [
        replace(span, owner=LIBRARY)
        if span.owner in (OWN, MADE) and any(a < span.end and span.start < b for a, b in known)
        else span
        for span in found
    ]


def extents(parts: Iterable[Mapped]) -> list[tuple[int, int]]:
    """From the first to the last that is left of each mapping of a file: what lies between was
    mapped over it."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for part in parts:
        key = (part.path, part.start - part.offset)
        start, end = found.get(key, (part.start, part.end))
        found[key] = (min(start, part.start), max(end, part.end))
    return list(found.values())


def owned(
    found: Iterable[tuple[int, int, str]],
    library: Sequence[str],
    mapped: Iterable[tuple[int, int, str]] = (),
) -> list[Span]:
    """Pieces of memory, each with its file, and whose they are; too much of one's own is none.

    ``mapped``: all memory: of a file with code that part counts as well which may not be run now.
    """
    found = list(found)
    named = [Span(start, end, _owner(path, library)) for start, end, path in found]
    own = {path for _, _, path in found if path and _owner(path, library) == OWN}
    n_own = sum(span.end - span.start for span in named if span.owner in (OWN, MADE))
    n_files = sum(end - start for start, end, path in mapped if path in own)
    if max(n_own, n_files) <= OWN_TEXT_BYTES:
        return named
    return [replace(s, owner=LIBRARY) if s.owner in (OWN, MADE) else s for s in named]


def _owner(path: str, library: Sequence[str]) -> str:
    """Whose the code of a mapped file is."""
    is_given = any(path.startswith(folder + "/") for folder in library)
    name = os.path.basename(path)
    if is_given and name.startswith(C_LIBRARY):
        return LENT
    if path in KERNELS or (is_given and (MODULES in path or name.startswith(NEUTRAL))):
        return ""
    if is_given or COMPILED.search(path):
        return LIBRARY
    return MADE if not path or path.startswith("[") else OWN


def whereabouts(pid: int) -> list[tuple[int, int]]:
    """Where each thread of a stopped process runs, and its stack; not of those that wait.

    Raises:
        OSError: it is gone, or this machine does not tell.
    """
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        words = Path(f"/proc/{pid}/task/{thread}/syscall").read_text().split()
        if len(words) == 3 and words[0] == RUNNING:
            found.append((int(words[2], 16), int(words[1], 16)))
    return found


def answerable(pid: int, address: int, stack: int, memory: list[Span]) -> int:
    """The address of the code that a thread runs, or of its caller's if it is in no file, or the
    C library's.

    No caller is found where ``stack`` is none: code that keeps something else in its register.
    """
    span = span_of(address, memory)
    if span is None or span.owner not in (MADE, LENT):
        return address
    words: list[int] = []
    # The stack may end before; its own page does not.
    for n_bytes in (STACK_BYTES, -stack % PAGE_BYTES or PAGE_BYTES):
        with contextlib.suppress(OSError):
            words = read_process(pid, stack, n_bytes - n_bytes % 8).view(torch.int64).tolist()
            break
    owners = ((at, span_of(at, memory)) for at in words)
    callers = (at for at, one in owners if one is not None and one.owner != span.owner)
    caller = next(callers, address)
    # Code in no file that an interpreter called is nobody's library.
    called_by = span_of(caller, memory)
    return caller if span.owner == LENT or (called_by and called_by.owner) else address


def span_of(address: int, memory: list[Span]) -> Span | None:
    """The piece of executable memory that holds an address."""
    return next((span for span in memory if span.start <= address < span.end), None)


def whose(addresses: Iterable[int], memory: list[Span]) -> str:
    """Whose code ran at one moment: a library's, if any thread was in it."""
    spans_seen = (span_of(at, memory) for at in addresses)
    seen = {span.owner for span in spans_seen if span is not None}
    return LIBRARY if LIBRARY in seen else OWN if seen & {OWN, MADE} else ""
