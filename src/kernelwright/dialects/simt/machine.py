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
from kernelwright.dialects.simt.sides import ARCH, with_sides

HERE = Path(__file__).parent
HEADERS = HERE / "include"
LIBRARIES = HEADERS / "amd"
"""Headers of libraries that emulation and compile checks share."""
WIDTHS = (32, 64)
LATE = 124
"""Exit code of a run that exceeded its time limit. Source: coreutils' timeout."""
HANG = 97
"""Exit code of a run in which no thread makes progress; ``HANG_EXIT`` in runtime.cpp."""
SCHEDULES = ("forward", "reverse", "random1")
"""Orders in which threads run: by number, backwards, and shuffled with a seed."""
CHECKS = (
    "-fsanitize=thread", "-fsanitize=bounds", "-fsanitize=shift-exponent",
    "-fno-sanitize-trap=local-bounds", "-fsanitize-recover=local-bounds",
    "-mllvm", "-tsan-distinguish-volatile=1",
    "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-instrument-atomics=0",
)  # fmt: skip
DEVICE_FLAGS = (
    "-O1", "-g1", "-w", "-fdeclspec", "-fno-pie", "-ffp-contract=off", "-fno-strict-return",
    "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "-Wno-reserved-user-defined-literal",
    "-fno-delete-null-pointer-checks", "-Wno-register",
)  # fmt: skip
"""The program is built without tail calls and with frame pointers: return addresses locate
collectives. Functions that end without a value return, and methods may ask whether there is an
object, as other compilers let them."""
C_FLAGS = (
    "-std=gnu17", "-O1", "-g1", "-w", "-fno-pie", "-fno-strict-return",
    "-Wno-implicit-function-declaration", "-Wno-int-conversion", "-Wno-implicit-int",
    "-Wno-incompatible-function-pointer-types", "-Wno-incompatible-pointer-types",
)  # fmt: skip
"""Flags for plain C; the last five are warnings that clang 16 and newer make errors of."""
_OF_HIP = re.compile(r"#\s*include\s*[<\"](hip|miopen/|rccl/)")
_OF_CUDA = re.compile(r"#\s*include\s*[<\"](cuda|cu[a-z]+_)")
_REFERENCES = re.compile(r"\btexture\s*<|\btextureReference\b")
"""Texture references, which are declared only for programs that use them: others may have a type of
their own with that name."""
_UNDEFINED = re.compile(r"undefined reference to [`'](\w+)")
_REPEATED = re.compile(r"multiple definition of [`'](\w+)")
RUNTIME = "runtime.o"
_WRAPS = ("-Wl,--wrap=malloc", "-Wl,--wrap=free", "-Wl,--no-demangle", "-no-pie")


@dataclass(frozen=True)
class Complaint:
    """One kind of error that a run made, at one place in the program."""

    kind: str
    """'race', 'out-of-bounds', 'uninitialised', 'barrier', 'barrier-exit', 'mask', 'shift' or
    'hang'."""
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
    errors: str = ""
    """The text that it wrote to its error output."""
    copies: bytes = b""
    """The bytes that it copied from the device to the host, up to 64 MiB."""
    memory: bytes = b""
    """The bytes that it left in the device's memory, up to 64 MiB."""
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


class UndefinedError(BuildError):
    """Functions or variables that the objects use and none of them defines."""

    def __init__(self, names: Sequence[str]) -> None:
        # names that are not C++'s are the emulation's, unless another unit of the program has them
        ours = [name for name in names if not name.startswith("_Z")]
        said = "the emulation has no" if ours else "it is defined in another file:"
        super().__init__(f"{said} {', '.join(ours or names)}")
        self.names = tuple(names)


class RepeatedError(BuildError):
    """Functions or variables that several of the objects define."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"several units define {', '.join(names)}")
        self.names = tuple(names)


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

    The arguments are those of :func:`compile_unit`.

    Raises:
        DialectError: this machine cannot build it at all.
        BuildError: the text does not compile, or uses what neither it nor the emulation has.
    """
    object_ = compile_unit(
        text,
        folder=folder,
        name=name,
        includes=includes,
        defines=defines,
        is_checked=is_checked,
        rewritten=rewritten,
    )
    link([object_], folder / name)
    return folder / name


def compile_unit(
    text: str,
    *,
    folder: Path,
    name: str,
    includes: Sequence[Path] = (),
    defines: Iterable[str] = (),
    is_checked: bool = True,
    rewritten: Callable[[str], str] = str,
    is_host: bool = False,
) -> Path:
    """Compile one unit of CUDA, HIP or C++ ``text`` in ``folder``, and return the object's path.

    ``name`` is its name in files, errors and complaints. ``rewritten`` is applied to the text, and
    to each header that it includes, before they are compiled. ``is_host`` says that no compiler for
    GPUs reads the unit, so that it never sees the device's side of ``#ifdef __CUDA_ARCH__``.

    Raises:
        DialectError: this machine cannot build it at all.
        BuildError: the text does not compile.
    """
    if missing := emulation_missing():
        raise DialectError.of_missing("device code cannot be run on this CPU", missing)
    source, object_ = folder / f"{name}.cpp", folder / f"{name}.o"

    def lowered(original: str) -> str:
        return lower(rewritten(original) if is_host else with_sides(rewritten(original)))

    headers = lower_headers(text, includes, folder / f"{name}-headers", lowered)
    texts = [text, *(p.read_text(errors="replace") for p in headers.rglob("*") if p.is_file())]
    runtime = "hip/hip_runtime.h" if _is_hip_with(texts) else "cuda_runtime.h"
    references = ("SIMT_TEXTURE_REFERENCES",) if any(map(_REFERENCES.search, texts)) else ()
    head = f'#include "{runtime}"\n#line 1 {json.dumps(name, ensure_ascii=False)}\n'
    source.write_text(head + lowered(text), errors="surrogateescape")
    flags = ("-std=c++17", *DEVICE_FLAGS, *(CHECKS if is_checked else ()))
    arch = () if is_host else (f"{name}={value}" for name, value in ARCH.items())
    folders = (HEADERS, LIBRARIES, headers, *includes)
    _compile(source, object_, flags, folders, (*arch, *references, *defines))
    return object_


def compile_c(
    text: str, *, folder: Path, name: str, includes: Sequence[Path], defines: Iterable[str]
) -> Path:
    """Compile a unit of plain C in ``folder``, and return the object's path.

    Raises:
        BuildError: the text does not compile.
    """
    source, object_ = folder / f"{name}.c", folder / f"{name}.o"
    source.write_text(
        f"#line 1 {json.dumps(name, ensure_ascii=False)}\n{text}", errors="surrogateescape"
    )
    after = (word for path in (HEADERS / "c", HEADERS) for word in ("-idirafter", str(path)))
    flags = ("-x", "c", *C_FLAGS, *after)
    _compile(source, object_, flags, includes, defines)
    return object_


def _compile(
    source: Path,
    object_: Path,
    flags: Sequence[str],
    includes: Iterable[Path],
    defines: Iterable[str],
) -> None:
    clang = find_clang()
    assert clang is not None
    words = (*(f"-I{path}" for path in includes), *(f"-D{define}" for define in defines))
    compile_with(clang, *flags, *words, "-c", str(source), "-o", str(object_))


def link(objects: Sequence[Path], program: Path, *, flags: Sequence[str] = ()) -> None:
    """Link objects, and shared libraries among them, with the emulation's runtime.

    Raises:
        UndefinedError: they use what neither they nor the emulation have.
        RepeatedError: several of them define the same.
        BuildError: they cannot be linked for another reason.
    """
    clang = find_clang()
    assert clang is not None
    names = [str(object_) for object_ in (*objects, runtime())]
    compile_with(clang, *_WRAPS, *flags, *names, "-o", str(program), "-lm")


def keep_apart(object_: Path, names: Iterable[str]) -> None:
    """Make names that an object defines its own, which other objects then do not see.

    Raises:
        BuildError: there is no objcopy, or it refuses.
    """
    tool = shutil.which("objcopy") or shutil.which("llvm-objcopy")
    if tool is None:
        raise BuildError("no objcopy on PATH; run: apt-get install binutils")
    compile_with(tool, *(f"--localize-symbol={name}" for name in names), str(object_))


def _is_hip_with(texts: Sequence[str]) -> bool:
    """Return whether a unit is HIP's, by what it (the first text) and the headers that it includes
    from the project include; a project's header may be written for both."""
    if is_hip(texts[0]):
        return True
    return any(map(is_hip, texts)) and not any(map(_OF_CUDA.search, texts))


def is_hip(text: str) -> bool:
    """Return whether the text is HIP's rather than CUDA's, by the headers that it includes."""
    return _OF_HIP.search(text) is not None


@dataclass(frozen=True)
class Running:
    """How a program is run: from rung 2 on, the original and the port alike."""

    arguments: tuple[str, ...] = ()
    limit_s: float = 60.0
    stdin: bytes = b""
    folder: Path | None = None
    """The folder that it is run in; by default an empty one."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables besides those of this process that hold no keys."""


def run(
    program: Path,
    *,
    width: int = 32,
    schedule: str = "forward",
    how: Running = Running(),
    is_idle: bool = False,
) -> EmulatedRun:
    """Run a built program. It may be written by a model, so its environment has no keys.

    With ``is_idle`` kernels are not run and nothing is copied from the device: what the program
    then prints does not come from kernels.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        noted = {name: Path(scratch, name) for name in ("copies", "memory")}
        environment = (
            open_environment()
            | dict(how.environment)
            | {
                "SIMT_WIDTH": str(width),
                "SIMT_SCHEDULE": schedule,
                "SIMT_REPORT": str(report),
                "SIMT_IDLE": "1" if is_idle else "",
            }
            | {f"SIMT_{name.upper()}": str(path) for name, path in noted.items()}
        )
        try:
            done = subprocess.run(
                ["program", *how.arguments],
                executable=program,
                env=environment,
                cwd=how.folder or scratch,
                input=how.stdin,
                capture_output=True,
                timeout=how.limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return EmulatedRun(width, schedule, LATE, _text(late.stdout), _text(late.stderr))
        text = report.read_text() if report.exists() else ""
        left = {name: path.read_bytes() for name, path in noted.items() if path.exists()}
    said = json.loads(text) if text else {}
    raw = said.get("complaints", [])
    places = _places(program, [complaint["site"] for complaint in raw])
    complaints = tuple(
        Complaint(c["kind"], place, c["count"], c["detail"])
        for c, place in zip(raw, places, strict=True)
    )
    counts = {key: said.get(key, 0) for key in ("threads", "barriers", "collectives")}
    printed, errors = _text(done.stdout), _text(done.stderr)
    return EmulatedRun(
        width, schedule, done.returncode, printed, errors, complaints=complaints, **left, **counts
    )


def _text(printed: bytes | None) -> str:
    return (printed or b"").decode(errors="replace")


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
            raise UndefinedError(tuple(absent))
        if repeated := dict.fromkeys(_REPEATED.findall(done.stderr)):
            raise RepeatedError(tuple(repeated))
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise BuildError("\n".join((errors or done.stderr.splitlines())[:8]))
