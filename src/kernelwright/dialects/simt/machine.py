"""Building and running device programs on the CPU, at either wave width and under several
schedules.

A program is built once; width and schedule are chosen when it runs. Compiling instruments device
code (bounds, races, uninitialised shared memory); ``is_checked=False`` leaves that out, for speed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import DialectError
from kernelwright.core.secrets import open_environment
from kernelwright.dialects.amdgpu import clang_version, find_clang
from kernelwright.dialects.kept import kept_folder
from kernelwright.dialects.simt.lower import lower, lower_headers

HERE = Path(__file__).parent
HEADERS = HERE / "include"
LIBRARIES = HEADERS / "amd"
"""Headers of libraries that emulation and compile checks share."""
WIDTHS = (32, 64)
LATE = 124
"""Exit code of a run that exceeded its time limit. Source: coreutils' timeout."""
SCHEDULES = ("forward", "reverse", "random1")
"""Orders in which threads run: by number, backwards, and shuffled with a seed."""
CHECKS = (
    "-fsanitize=thread", "-fsanitize=bounds", "-mllvm", "-tsan-distinguish-volatile=1",
    "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-instrument-atomics=0",
)  # fmt: skip
DEVICE_FLAGS = (
    "-O1", "-g1", "-w", "-fdeclspec", "-fno-pie", "-ffp-contract=off",
    "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer",
)  # fmt: skip
"""The program is built without tail calls and with frame pointers: return addresses locate
collectives."""
_OF_HIP = re.compile(r"#\s*include\s*[<\"](hip|miopen/|rccl/)")
_UNDEFINED = re.compile(r"undefined reference to [`'](\w+)")
RUNTIME = "runtime.o"
_WRAPS = ("-Wl,--wrap=malloc", "-Wl,--wrap=free", "-Wl,--no-demangle", "-no-pie")


@dataclass(frozen=True)
class Complaint:
    """One kind of error that a run made, at one place in the program."""

    kind: str
    """'race', 'out-of-bounds', 'uninitialised', 'barrier', 'barrier-exit', 'mask', 'hang'."""
    place: str
    """``file:line``, if the compiler recorded it."""
    count: int
    detail: str


@dataclass(frozen=True)
class EmulatedRun:
    """The result of one run of a program."""

    width: int
    schedule: str
    exit_code: int
    """The program's exit code; negative for a signal; LATE if it exceeded its time limit."""
    output: str
    complaints: tuple[Complaint, ...] = ()
    threads: int = 0
    barriers: int = 0
    collectives: int = 0


class BuildError(Exception):
    """The lowered program does not compile; the message is the compiler's first errors."""


@functools.cache
def emulation_missing() -> str | None:
    """Return what this machine lacks to run device programs on its CPU; None if nothing."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return f"the emulation runs on x86-64 Linux, not on {platform.machine()}"
    if find_clang() is None:
        return "no clang++ on PATH; run: apt-get install clang"
    return None


def build(
    text: str,
    *,
    folder: Path,
    name: str = "program",
    includes: Sequence[Path] = (),
    defines: Iterable[str] = (),
    is_checked: bool = True,
    rewritten: Callable[[str], str] = str,
) -> Path:
    """Build the program of CUDA or HIP ``text`` in ``folder``, and return its path.

    ``name`` is its name in files, errors and complaints. ``rewritten`` is applied to the text, and
    to each header that it includes, before they are built.

    Raises:
        DialectError: this machine cannot build it at all.
        BuildError: the text does not compile.
    """
    if missing := emulation_missing():
        raise DialectError.of_missing("device code cannot be run on this CPU", missing)
    source, program = folder / f"{name}.cpp", folder / name
    runtime = "hip/hip_runtime.h" if is_hip(text) else "cuda_runtime.h"
    head = f'#include "{runtime}"\n#line 1 {json.dumps(name, ensure_ascii=False)}\n'

    def lowered(original: str) -> str:
        return lower(rewritten(original))

    source.write_text(head + lowered(text), errors="surrogateescape")
    headers = lower_headers(text, includes, folder / f"{name}-headers", lowered)
    object_ = folder / f"{name}.o"
    clang = find_clang()
    assert clang is not None
    compile_with(
        clang,
        "-std=c++17",
        *DEVICE_FLAGS,
        *(CHECKS if is_checked else ()),
        *(f"-I{path}" for path in (HEADERS, LIBRARIES, headers, *includes)),
        *(f"-D{define}" for define in defines),
        "-c",
        str(source),
        "-o",
        str(object_),
    )
    link(object_, program)
    return program


def link(object_: Path, program: Path) -> None:
    """Link device code with the emulation's runtime.

    Raises:
        BuildError: it calls what neither it nor the emulation has.
    """
    clang = find_clang()
    assert clang is not None
    compile_with(clang, *_WRAPS, str(object_), str(runtime()), "-o", str(program), "-lm")


def is_hip(text: str) -> bool:
    """Return whether the text is HIP's rather than CUDA's, by the headers that it includes."""
    return _OF_HIP.search(text) is not None


def run(
    program: Path,
    *,
    width: int = 32,
    schedule: str = "forward",
    arguments: Sequence[str] = (),
    limit_s: float = 60.0,
    folder: Path | None = None,
) -> EmulatedRun:
    """Run a built program in ``folder``. It may be written by a model, so its environment has no
    keys."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        environment = open_environment() | {
            "SIMT_WIDTH": str(width),
            "SIMT_SCHEDULE": schedule,
            "SIMT_REPORT": str(report),
        }
        try:
            done = subprocess.run(
                ["program", *arguments],
                executable=program,
                env=environment,
                cwd=folder or scratch,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            output = late.stdout.decode(errors="replace") if late.stdout else ""
            return EmulatedRun(width, schedule, LATE, output)
        text = report.read_text() if report.exists() else ""
    said = json.loads(text) if text else {}
    raw = said.get("complaints", [])
    places = _places(program, [complaint["site"] for complaint in raw])
    complaints = tuple(
        Complaint(c["kind"], place, c["count"], c["detail"])
        for c, place in zip(raw, places, strict=True)
    )
    counts = {key: said.get(key, 0) for key in ("threads", "barriers", "collectives")}
    return EmulatedRun(width, schedule, done.returncode, done.stdout, complaints, **counts)


def _places(program: Path, sites: list[int]) -> list[str]:
    """Return ``file:line`` of each return address, by addr2line if it is installed."""
    tool = shutil.which("addr2line")
    if not sites or tool is None:
        return ["" for _ in sites]
    command = [tool, "-e", str(program), *(hex(max(site - 1, 0)) for site in sites)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return [Path(line.split(" (")[0]).name for line in lines]


@functools.cache
def runtime() -> Path:
    """Return the emulation's own object, built once per compiler and version of the source."""
    clang = find_clang()
    assert clang is not None
    parts = sorted(HERE.glob("*.cpp"))
    texts = [p.read_bytes() for p in (*parts, HERE / "runtime.h")]
    texts += [(HEADERS / "simt" / name).read_bytes() for name in ("core.h", "metal.h")]
    of_clang = f"{clang} {clang_version(clang)}".encode()
    version = hashlib.sha256(b"".join([*texts, of_clang])).hexdigest()
    whole = "".join(f'#include "{part.name}"\n' for part in parts)

    def make(folder: Path) -> None:
        (folder / "whole.cpp").write_text(whole)
        flags = ("-std=c++17", "-O2", "-fno-pie", "-fdeclspec", f"-I{HEADERS}", f"-I{HERE}")
        made = folder / RUNTIME
        compile_with(clang, *flags, "-c", str(folder / "whole.cpp"), "-o", str(made))

    return kept_folder("simt", version, make) / RUNTIME


def compile_with(*command: str) -> None:
    """Run a compiler or linker.

    Raises:
        BuildError: it refuses; the message is its first errors.
    """
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        if absent := dict.fromkeys(_UNDEFINED.findall(done.stderr)):
            # names that are not C++'s are the emulation's
            ours = [name for name in absent if not name.startswith("_Z")]
            said = "the emulation has no" if ours else "it is defined in another file:"
            raise BuildError(f"{said} {', '.join(ours or absent)}")
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise BuildError("\n".join((errors or done.stderr.splitlines())[:8]))
