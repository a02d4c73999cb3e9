"""Samples of a candidate's stacks, taken from outside: it is stopped at random moments.

A candidate can see and forge a profiler inside its process, and behave differently under one. Here
ordinary calls are stopped at moments drawn beforehand, and Linux says where each thread stood.

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
from kernelwright.judge.sandbox.isolation import library_folders
from kernelwright.judge.sandbox.process_memory import Mapped, mapped, read_process
from kernelwright.judge.sandbox.processes import beside

OWN, LIBRARY = "own", "library"
MADE = "made"
"""Code in no file, made while running: oneDNN makes its convolutions so, and a candidate may."""
LENT = "lent"
"""Code of the C library, which works for its caller: an own kernel may be one memcpy."""
STACK_BYTES = 8192
"""Part of a thread's stack in which the caller of such code is looked for: oneDNN's kernels use
less than half of it themselves."""
C_LIBRARY = ("libc.", "libc-", "libm.", "libm-", "libmvec")
NEUTRAL = (
    "python", "libpython", "libgomp", "libomp", "ld-", "libpthread", "libstdc++", "libgcc",
    "libffi", "_ctypes", "libdl", "librt", "libtorch_python", "libc10",
)  # fmt: skip
"""Beginnings of the names of files with code that own and library kernels both run: the interpreter
and torch's side of it, allocators, threads that wait for others."""
MODULES = "/lib-dynload/"
"""Folder of the interpreter's modules that are not compiled into it: ``array`` and ``_json`` pack
the worker's answers."""
COMPILED = re.compile(r"/([a-z2-7]{2})/c\1[a-z2-7]{30,}[^/]*\.so$")
"""Files in which torch.compile puts its kernels, which count as a library's
(torch/_inductor/codecache.py)."""
OWN_TEXT_BYTES = 8 << 20
"""Size above which code outside the system's folders, in files or in none, counts as a copied
library: it may be cut in pieces, of which only those that are needed are run."""
KERNELS = ("[vdso]", "[vsyscall]", "[uprobes]")
"""Code that Linux maps into every process; code in a heap or a stack is the process's own."""
LARGE_SHARE = 0.5
"""Share of the time that own code must take to be called a kernel."""
NOTICEABLE_SHARE = 0.2
"""Share of the time that library code must take to be named as well."""
FEWEST_SAMPLES, MOST_SAMPLES = 12, 64
"""Samples that saw somebody's code, and samples in all. Calls are made until there are the fewest
of those and it is clear which labels follow, or until there are the most, within BUDGET_S."""
SAMPLES_A_CALL = 8
GAP_NS = 1e6
"""Part of a call's time for each sample: a call needs a good part of it to go on as before."""
SAMPLE_SHARE, LATER_SAMPLE_SHARE = 0.5, 0.2
"""Share of the rounds in which the candidate's call is sampled and nothing is timed, until there
are enough samples, and afterwards."""
BUDGET_S = 1.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
RUNNING = "-1"
"""Stands in place of a system call's number if the thread ran code of the process."""


class StackSampler:
    """Samples of the stacks of one candidate's threads.

    They are taken in rounds among the timed ones, from calls made like those (after the rounds of a
    first look, because a winner is measured again): a candidate that did something else in them
    would do it when it is timed. In each call only the first sample is a surprise, so every other
    call has a single sample, at any moment of it, and own code must have most of those too. Short
    calls have single samples only.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._calls: list[list[str]] = []
        self._single: list[list[str]] = []
        """Those of them with a single sample."""
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
    def n_calls(self) -> int:
        """The number of calls, or windows of them, that were stopped for samples."""
        return len(self._calls)

    @property
    def n_told(self) -> int:
        """The number of samples that saw somebody's code."""
        return sum(len(samples) - samples.count("") for samples in self._calls)

    @property
    def n_against(self) -> int:
        """The number of samples of a library's code less that of own code."""
        seen = [one for samples in self._calls for one in samples]
        return seen.count(LIBRARY) - seen.count(OWN)

    @property
    def is_nobodys(self) -> bool:
        """Whether enough samples were taken, and none saw own code."""
        seen = [one for samples in self._calls for one in samples]
        return len(seen) >= FEWEST_SAMPLES and OWN not in seen

    def is_due(self, coin: random.Random) -> bool:
        """Whether the next round is for a sample."""
        share = SAMPLE_SHARE if self.n_told < FEWEST_SAMPLES else LATER_SAMPLE_SHARE
        return coin.random() < share

    @property
    def is_enough(self) -> bool:
        """Whether to stop: the labels are clear, there are the most samples, or so few of them saw
        somebody's code that the calls are too short to be sampled."""
        n_taken = sum(map(len, self._calls))
        if n_taken >= 2 * FEWEST_SAMPLES > 2 * self.n_told:
            return True
        is_clear = self.n_told >= FEWEST_SAMPLES and all(map(_is_clear, self._both))
        return n_taken >= MOST_SAMPLES or is_clear

    def shares(self) -> tuple[float, float]:
        """The shares of own and of library code; some must have been seen."""
        own = min(share for share in map(_share, self._both) if share is not None)
        return own, 1 - own

    @property
    def _both(self) -> tuple[list[str], list[str]]:
        """All samples, and those of calls with a single one."""
        return list(itertools.chain(*self._calls)), list(itertools.chain(*self._single))

    def _sample(self, pid: int) -> None:
        try:
            if beside(pid):  # other processes of its own may do the work
                self._calls[-1].append(LIBRARY)
                return
            at = whereabouts(pid)
            if any(span_of(address, self._memory) is None for address, _ in at):
                self._learn(pid)
            seen = owner_of([answerable(pid, *place, self._memory) for place in at], self._memory)
        except OSError:
            self.is_possible = False
        else:
            self._calls[-1].append(seen)

    def _learn(self, pid: int) -> None:
        """Read what is mapped now."""
        self._memory = spans(list(mapped(pid)))


def _share(samples: list[str]) -> float | None:
    """The share of own code among the samples that saw somebody's."""
    n_told = len(samples) - samples.count("")
    return samples.count(OWN) / n_told if n_told else None


def _is_clear(samples: list[str]) -> bool:
    """Whether own code has more or less of what was seen than each label asks for, by two standard
    deviations."""
    n_told = len(samples) - samples.count("")
    return all(
        abs(samples.count(OWN) - n_told * share) > 2 * math.sqrt(n_told * share * (1 - share))
        for share in (LARGE_SHARE, 1 - NOTICEABLE_SHARE)
    )


@dataclass(frozen=True)
class Span:
    """A piece of executable memory, and its owner; '' if it is nobody's in particular."""

    start: int
    end: int
    owner: str


def spans(parts: Sequence[Mapped]) -> list[Span]:
    """The executable memory of a process with these parts."""
    library = library_folders()
    # Memory that may be written as well holds code made while running, or a stack.
    written = {part.start for part in parts if "wx" in part.rights}
    whole = [(part.start, part.end, part.path) for part in parts]
    run = [place for place, part in zip(whole, parts, strict=True) if "x" in part.rights]
    return [
        replace(span, owner=MADE) if span.owner == OWN and span.start in written else span
        for span in owned(run, library, whole)
    ]


def owned(
    found: Iterable[tuple[int, int, str]],
    library: Sequence[str],
    mapped: Iterable[tuple[int, int, str]] = (),
) -> list[Span]:
    """Name the owners of pieces of memory, each with its file; too much own code is a library's.

    ``mapped`` is all memory: of a file with code, parts that may not be run now count as well.
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
    """Name the owner of a mapped file's code."""
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
    """Return where each running thread of a stopped process is, and its stack.

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
    """Return the address of the code that a thread runs, or of its caller if that code is in no
    file or the C library's.

    No caller is found if ``stack`` is none: some code keeps something else in that register.
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


def owner_of(addresses: Iterable[int], memory: list[Span]) -> str:
    """Name the owner of the code that ran at one moment: a library, if any thread was in it."""
    spans_seen = (span_of(at, memory) for at in addresses)
    seen = {span.owner for span in spans_seen if span is not None}
    return LIBRARY if LIBRARY in seen else OWN if seen & {OWN, MADE} else ""
