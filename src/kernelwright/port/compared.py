"""Comparison of what programs leave: exit codes, printed lines, written files."""

from __future__ import annotations

import difflib
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelwright.dialects.simt import machine

OUTPUT = "the output"
MAX_COPIED_BYTES = 16 << 20
"""Files of a program's folder up to this size are copied for each run, larger ones are linked to:
a program may overwrite its own files."""
N_PARENTS = 4
"""Folders above a program's own whose files it can reach by relative paths."""
MAX_BESIDE = 256
"""Entries of a folder above a program's own, up to which it is reached."""
N_LAST = 3
"""Lines of a program's error output that messages quote."""
COPIES = "copies from the device"
MEMORY = "the device's memory"
ROUNDING = 1e-4
"""Relative difference of floats in copies that is left to rounding."""
ROUNDING_OF_DOUBLES = 1e-12
"""The same of doubles. Two floats are read as a double too, whose lower word is the first of them:
that one may be off by 4,504 units in the last place for this, which is about ROUNDING."""
VALUE_BYTES = 4
"""Size at which values of binary files are counted."""
_TIMED = re.compile(
    r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?[ \t]*[\[(]?"
    r"(?:[mun]?s|[mu]?secs?|seconds?|[KMGT]i?B/s|[MGT]FLOPS?(?:/s)?)\b"
)
"""A number and its unit of time or of a rate, on one line."""
_PERCENT = re.compile(r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?[ \t]*%")


@dataclass(frozen=True)
class Left:
    """The results that one run of a program left."""

    exit_code: int
    output: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    errors: str = ""
    copies: bytes = b""
    """The bytes that it copied from the device, under the emulation."""
    memory: bytes = b""
    """The bytes that it left in the device's memory, under the emulation."""

    def noted(self, place: str) -> bytes:
        """Return what the emulation noted of COPIES or MEMORY."""
        return self.copies if place == COPIES else self.memory

    @property
    def texts(self) -> dict[str, str]:
        """The output, and the written files that are text, by name."""
        named = {name: data.decode(errors="replace") for name, data in self.files.items()}
        return {OUTPUT: self.output} | {n: t for n, t in named.items() if not _is_binary(t)}


def _is_binary(text: str) -> bool:
    return "\0" in text or "\ufffd" in text


def ended(exit_code: int, errors: str = "", limit_s: float = 0.0) -> str:
    """Return in words how a program ended, with the last lines of its error output."""
    if exit_code == machine.LATE:
        said = f"exceeds the time limit of {limit_s:g} s"
    elif exit_code == machine.HANG:
        said = "hangs: no thread makes progress"
    elif exit_code < 0:
        said = f"is ended by {signal.Signals(-exit_code).name} ({signal.strsignal(-exit_code)})"
    else:
        said = f"exits with {exit_code}"
    last = [line.strip() for line in errors.splitlines() if line.strip()][-N_LAST:]
    return said + (f', and says: "{" | ".join(last)}"' if last else "")


def loose_lines(outputs: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines in which outputs of the same program differ."""
    rows = zip(*(output.splitlines() for output in outputs), strict=False)
    return frozenset(i for i, lines in enumerate(rows) if len(set(lines)) > 1)


def untimed(text: str) -> list[str]:
    """Return the lines of a text, with a mark in place of each number with a unit of time or of a
    rate, and of percentages beside them."""
    return [
        _PERCENT.sub("<time>", line) if "<time>" in line else line
        for line in _TIMED.sub("<time>", text).splitlines()
    ]


def differences(output: str, wanted: str, loose: frozenset[int]) -> list[str]:
    """Return the lines of ``output`` that differ from ``wanted``, except those numbered ``loose``.

    Numbers with a unit of time or of a rate are not compared.
    """
    lines, want = untimed(output), untimed(wanted)
    if len(lines) == len(want):
        lines = [want[i] if i in loose else line for i, line in enumerate(lines)]
    if lines == want:
        return []
    changed = [
        d
        for d in difflib.unified_diff(want, lines, lineterm="", n=0)
        if d[:3] not in ("---", "+++")
    ]
    return ["prints something else: " + " | ".join(changed[1:4])]


def faults_of(after: Left, before: Sequence[Left], limit_s: float = 0.0) -> list[str]:
    """Return how ``after`` differs from what runs of the original left, in words.

    What differs between the original's own runs is not compared. ``limit_s`` is the time limit
    that messages name.
    """
    first = before[0]
    faults = []
    if after.exit_code != first.exit_code:
        said = ended(after.exit_code, after.errors, limit_s)
        faults.append(f"{said}; the original {ended(first.exit_code)}")
    if after.exit_code in (machine.LATE, machine.HANG):
        return faults
    texts, wanted = after.texts, first.texts
    for name, text in wanted.items():
        if name != OUTPUT and name not in after.files:
            faults.append(f"does not write {name}")
            continue
        loose = loose_lines([run.texts.get(name, "") for run in before])
        found = differences(texts.get(name, ""), text, loose)
        faults += found if name == OUTPUT else [f"in {name}: {said}" for said in found]
    for name in first.files.keys() - wanted.keys():
        is_loose = any(run.files.get(name) != first.files[name] for run in before)
        if after.files.get(name) != first.files[name] and not is_loose:
            faults.append(f"writes other bytes to {name}")
    return faults + [f"writes {name} as well" for name in after.files.keys() - first.files.keys()]


def counted(before: Sequence[Left], idle: Left | None) -> dict[str, int]:
    """Return how many values were compared, by the place where the original left them.

    A value is a word of the output or of a file that is the same in all runs of the original and
    another in the run ``idle``, in which no kernel ran. Without ``idle`` all numbers count. If
    there is none, the words that were copied from the device count; if there are none either, those
    that kernels left in its memory.
    """
    first = before[0]
    found = {
        name: _values(
            text,
            loose_lines([run.texts.get(name, "") for run in before]),
            idle.texts.get(name, "") if idle is not None else None,
        )
        for name, text in first.texts.items()
    }
    for name in first.files.keys() - found.keys():
        data = first.files[name]
        if all(run.files.get(name) == data for run in before):
            is_idle = idle is not None and idle.files.get(name) == data
            found[name] = 0 if is_idle else max(1, len(data) // VALUE_BYTES)
    left = {name: n for name, n in found.items() if n}
    for place in (COPIES, MEMORY):
        if not left:
            n = _words([run.noted(place) for run in before], idle.noted(place) if idle else b"")
            left = {place: n} if n else {}
    return left


def _words(runs: Sequence[bytes], idle: bytes) -> int:
    """Return how many words runs of the original left alike and the run ``idle`` otherwise."""
    first = runs[0]
    if not first or any(run != first for run in runs):
        return 0
    if len(idle) != len(first):
        return max(1, len(first) // VALUE_BYTES)
    return int(np.count_nonzero(_words_of(first) != _words_of(idle)))


def _words_of(data: bytes) -> npt.NDArray[np.uint32]:
    """Return bytes as words, the last filled up with zeros."""
    return np.frombuffer(data + bytes(-len(data) % VALUE_BYTES), np.uint32)


def _is_near(a: npt.NDArray[Any], b: npt.NDArray[Any], rounding: float) -> npt.NDArray[np.bool_]:
    """Return which numbers are the same but for rounding. Subnormal numbers have to be equal: they
    are integers, seen as floats."""
    with np.errstate(all="ignore"):
        near = np.isclose(a, b, rtol=rounding, atol=0)
        return near & ((np.abs(b) >= np.finfo(b.dtype).tiny) | (a == b))


def bytes_differ(after: bytes, wanted: bytes, place: str) -> list[str]:
    """Return how the bytes in COPIES or MEMORY differ, in words; numbers may be off by rounding,
    because sums by atomics depend on the schedule."""
    if len(after) != len(wanted):
        return [f"{place}: {len(after):,} bytes; the original has {len(wanted):,}"]
    if after == wanted:
        return []
    a, b = _words_of(after), _words_of(wanted)
    is_near = _is_near(a.view(np.float32), b.view(np.float32), ROUNDING)
    if a.size % 2 == 0:
        near = _is_near(a.view(np.float64), b.view(np.float64), ROUNDING_OF_DOUBLES)
        is_near |= np.repeat(near, 2)
    wrong = np.flatnonzero((a != b) & ~is_near)
    if not wrong.size:
        return []
    return [f"{place}: other values in {wrong.size:,} of {a.size:,} words"]


def _values(text: str, loose: frozenset[int], idle: str | None) -> int:
    lines = untimed(text)
    kept = [(i, line) for i, line in enumerate(lines) if i not in loose]
    if idle is None:
        return sum(len(re.findall(r"(?<![\w.])[-+]?\.?\d", line)) for _, line in kept)
    others = untimed(idle)
    left = Counter(others)
    n = 0
    for i, line in kept:
        if left[line]:
            left[line] -= 1
            continue
        words, other = line.split(), others[i].split() if i < len(others) else []
        if len(words) == len(other):
            n += sum(a != b for a, b in zip(words, other, strict=True))
        else:
            n += len(words)
    return n


def workplace(folder: Path | None, scratch: Path) -> Path:
    """Return a copy of a program's folder below ``scratch``, in which it can be run.

    Files that are reached by going up from it are links to the originals.
    """
    if folder is None:
        scratch.mkdir(parents=True)
        return scratch
    whole = folder.resolve()
    above = list(whole.parents)[:N_PARENTS][::-1]
    at = scratch
    at.mkdir(parents=True)
    for parent, inner in zip(above, [*above[1:], whole], strict=True):
        for beside in _entries(parent):
            if beside != inner:
                (at / beside.name).symlink_to(beside)
        at = at / inner.name
        at.mkdir()
    for path in whole.rglob("*"):
        inside = path.relative_to(whole)
        place = at / inside
        if any(part.startswith(".") for part in inside.parts):
            continue
        if path.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path.resolve())
        elif path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif path.is_file() and path.stat().st_size <= MAX_COPIED_BYTES:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        elif path.is_file():
            place.symlink_to(path)
    return at


def _entries(folder: Path) -> list[Path]:
    """Return what a folder holds; nothing if it may not be read or holds more than a project's
    folders do."""
    try:
        found = list(folder.iterdir())
    except OSError:
        return []
    return found if len(found) <= MAX_BESIDE else []


def snapshot(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return the time and size of every file below a folder that is no link."""
    return {
        path: (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def written_since(
    before: Mapping[Path, tuple[int, int]], folder: Path, others: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file below ``folder`` that was written since the snapshot
    ``before``, and of ``others``, which are looked for from there."""
    for path, state in sorted(snapshot(folder).items()):
        if before.get(path) != state:
            yield str(path.relative_to(folder)), path.read_bytes()
    for name in others:
        path = folder / name
        if path.is_file() and not path.resolve().is_relative_to(folder):
            yield name, path.read_bytes()
