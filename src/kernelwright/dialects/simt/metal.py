"""Building kernels in MSL for the CPU, and dispatching them, one process for each dispatch.

A kernel that reads or writes outside of its buffers, races, or hangs is told, and harms nobody.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import re
import signal
import struct
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import DialectError
from kernelwright.dialects.amdgpu import clang_version, find_clang
from kernelwright.dialects.simt import machine, msl

WIDTH = 32
"""Threads of a simdgroup on every Apple GPU. Source: Metal feature set tables."""
MOST_THREADS = 1024
"""Threads of a threadgroup at most, for kernels that need few registers. Source: the same."""
REFUSED, LIMIT_S = 96, 120.0
OLDEST_CLANG = 18
"""The first with arithmetic on bfloat that rounds every time, by its notes; 22 was tried."""
_LANGUAGE = ("-std=gnu++17", "-Xclang", "-cl-single-precision-constant", "-fno-char8_t",
             "-Xclang", "-ffloat16-excess-precision=none",
             "-Xclang", "-fbfloat16-excess-precision=none")  # fmt: skip
"""Literals are floats, and every operation on half or bfloat rounds, as in MSL."""
_ALONE = ("-nostdinc", "-nostdinc++")
_GAP_BYTES, _ALIGNMENT_BYTES, _HEAD_BYTES = 256, 256, 4096
_JOB, _TRIPLE, _PAIR = struct.Struct("10I"), struct.Struct("3Q"), struct.Struct("2Q")
_ARGUMENTS_BYTES = _TRIPLE.size * msl.MOST_BUFFERS
"""The form of a dispatch, as simt/metal.h declares it."""
_ERROR = re.compile(r"^kernels\.metal:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)


class Refused(Exception):
    """A dispatch that Metal would refuse, or whose arguments do not fit the parameters."""


class Fault(Exception):
    """A kernel that did wrong while it ran: what, and where in its text."""


@dataclass(frozen=True)
class Argument:
    """Bytes for one buffer index: a part of a region, or a number that is copied."""

    region: int
    """The number of the region that it lies in."""
    offset_bytes: int
    n_bytes: int
    is_number: bool = False


@dataclass(frozen=True)
class Memory:
    """Memory that a dispatch may use: where it lies in this process."""

    address: int
    n_bytes: int


@functools.cache
def msl_missing() -> str | None:
    """Return what this machine lacks to run kernels in MSL on its CPU; None if nothing."""
    clang = find_clang()
    if clang is None or machine.emulation_missing() is not None:
        return machine.emulation_missing()
    version = clang_version(clang)
    found = re.search(r"version (\d+)", version)
    if found is None or int(found[1]) < OLDEST_CLANG:
        return f"{version or clang} is too old; install clang {OLDEST_CLANG} or newer"
    return None


class Program:
    """The kernels of one MSL text, built for this CPU: those with these host names, or all.

    Raises:
        DialectError: this machine cannot build device code.
        machine.BuildError, msl.MslError: the text does not compile, or cannot be bound.
    """

    def __init__(self, text: str, names: Collection[str] | None = None) -> None:
        if missing := msl_missing():
            raise DialectError.of_missing("kernels in MSL cannot be run on this CPU", missing)
        self._folder = tempfile.TemporaryDirectory(prefix="metal-")
        folder = Path(self._folder.name)
        # Named as the user's text is, for complaints name it.
        source, object_ = folder / "lowered" / "kernels.metal", folder / "kernels.o"
        source.parent.mkdir()
        lowered, kernels = msl.lower(_preprocessed(text, folder), names)
        self._kernels = {kernel.name: number for number, kernel in enumerate(kernels)}
        table = "".join(f"    {kernel.entry},\n" for kernel in kernels)
        source.write_text(
            # a call that only some lanes reach must not be a copy of the call that others reach
            '#include "msl/msl.h"\n'
            "#pragma clang attribute push(__attribute__((convergent)), apply_to = function)\n"
            f"{lowered}\n#pragma clang attribute pop\n"
            '#line 1 "table"\n'
            'extern "C" int simt_metal_main(const char*, const simt_metal::Entry*);\n'
            f"static const simt_metal::Entry simt_entries[] = {{\n{table}    {{}}\n}};\n"
            "int main(int, char** words) { return simt_metal_main(words[1], simt_entries); }\n"
        )
        _compile([*machine.DEVICE_FLAGS, *machine.CHECKS, f"-I{machine.HEADERS}",
                  "-x", "c++", "-c", str(source), "-o", str(object_)])  # fmt: skip
        self._program = folder / "kernels"
        machine.link([object_], self._program)
        self._n_dispatches = 0

    @property
    def kernels(self) -> tuple[str, ...]:
        """The host name of each kernel."""
        return tuple(self._kernels)

    def dispatch(
        self,
        name: str,
        arguments: Sequence[Argument],
        memory: Sequence[Memory],
        *,
        threads: Sequence[int],
        group: Sequence[int],
    ) -> None:
        """Run a kernel once and put what it wrote into this process's memory.

        ``threads`` and ``group``: three extents each; the last threadgroups may be partial.
        Schedules take turns from dispatch to dispatch.

        Raises:
            Refused: the arguments do not fit the parameters.
            Fault: it read or wrote outside its buffers, raced, hung or crashed.
        """
        regions, end = _laid_out(memory)
        numbers = (self._kernels[name], *threads, *group, len(arguments), len(regions), 0)
        places = [(regions[a.region] + a.offset_bytes, a.n_bytes, a.is_number) for a in arguments]
        bounds = [(at, part.n_bytes) for at, part in zip(regions, memory, strict=True)]
        head = _JOB.pack(*numbers)
        head += b"".join(_TRIPLE.pack(*place) for place in places).ljust(_ARGUMENTS_BYTES, b"\0")
        head += b"".join(_PAIR.pack(*bound) for bound in bounds)
        schedule = machine.SCHEDULES[self._n_dispatches % len(machine.SCHEDULES)]
        self._n_dispatches += 1
        with tempfile.NamedTemporaryFile(prefix="dispatch-") as file:
            file.truncate(end)
            with mmap.mmap(file.fileno(), end) as shared:
                shared[: len(head)] = head
                for at, part in zip(regions, memory, strict=True):
                    shared[at : at + part.n_bytes] = ctypes.string_at(part.address, part.n_bytes)
                done = machine.run(
                    self._program,
                    width=WIDTH,
                    schedule=schedule,
                    how=machine.Running((file.name,), LIMIT_S),
                )
                _check(name, done)
                for at, part in zip(regions, memory, strict=True):
                    found = shared[at : at + part.n_bytes]
                    if found != ctypes.string_at(part.address, part.n_bytes):
                        ctypes.memmove(part.address, found, part.n_bytes)


def _laid_out(memory: Sequence[Memory]) -> tuple[list[int], int]:
    """Return where each part lies in the file of a dispatch, after its head, and the file's size.

    Between two parts lies memory that belongs to neither, so that no kernel runs over unseen.
    """
    places, end = [], _HEAD_BYTES
    for part in memory:
        places.append(end)
        end += -(-(part.n_bytes + _GAP_BYTES) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
    return places, end


def _check(name: str, done: machine.EmulatedRun) -> None:
    """Raise what was wrong with a run of the kernel ``name``, if anything was."""
    if done.exit_code == REFUSED:
        raise Refused(f"{name}: {done.output.strip()}")
    told = [
        f"{c.kind} at {c.place or 'an unknown line'}: {c.detail} ({c.count} times)"
        for c in done.complaints
    ]
    if done.exit_code == machine.LATE:
        told.append(f"it did not end within {LIMIT_S:.0f} s")
    elif done.exit_code == -signal.SIGILL and not told:
        told.append("an array of a thread's own is indexed outside of its bounds")
    elif done.exit_code and not told:
        told.append(f"it ended with exit code {done.exit_code}")
    if told:
        raise Fault(f"{name}: " + "; ".join(told[:4]))


def _preprocessed(text: str, folder: Path) -> str:
    """Return ``text`` without macros and comments, with marks of its lines."""
    for header in msl.HEADERS:
        path = folder / "headers" / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    source, out = folder / "kernels.metal", folder / "preprocessed.cpp"
    source.write_text(text)
    _compile(["-x", "c++", "-E", "-undef", *_ALONE, f"-I{folder / 'headers'}",
              "-include", str(machine.HEADERS / "msl/macros.h"), "-o", str(out), str(source)],
             folder)  # fmt: skip
    marks = re.compile(r'^# (\d+) "(.*)"[ \d]*$', re.MULTILINE)
    own = str(source)  # its headers are empty, and macros.h leaves nothing but macros
    return marks.sub(
        lambda mark: f'#line {mark[1]} "{source.name}"' if mark[2] == own else "", out.read_text()
    )


def _compile(words: Sequence[str], folder: Path | None = None) -> None:
    clang = find_clang()
    assert clang is not None
    done = subprocess.run(
        [clang, *_LANGUAGE, "-w", *words],
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.replace(f"{folder}/", "") if folder else done.stderr
        errors = [f"line {line}, column {c}: {what}" for line, c, what in _ERROR.findall(said)]
        others = [line for line in said.splitlines() if "error" in line]
        raise machine.BuildError("\n".join((errors or others or said.splitlines())[:8]))
