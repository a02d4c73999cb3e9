"""Ports of a file, a folder, or a project with a compile database: translated, written, checked."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import UsageError, nearest
from kernelwright.dialects.amdgpu import TARGETS
from kernelwright.hipify import (
    Finding,
    State,
    Translation,
    translate,
    translate_cmake,
    translate_python,
)
from kernelwright.hipify.python_text import device_texts
from kernelwright.port.build_flags import (
    DATABASE,
    Flags,
    build_flags,
    database_of,
    nearest_folders,
)
from kernelwright.port.finishing import finished
from kernelwright.port.hardware import HardwareRun, runs_on_amd, runs_on_nvidia
from kernelwright.port.ladder import Rung, RungStatus, compiles, compiles_for_nvidia, emulates, lint
from kernelwright.port.outputs import output_path, write_outputs, write_report
from kernelwright.port.reach import folders_of_headers, inclusions, names_in_reach
from kernelwright.port.tree import BUILD, HEADERS, UNITS, files_of, headers_of, with_foreign_headers
from kernelwright.proposers.port.repair import Repair, Repairs, UnfinishedFile

RUNGS = (0, 1, 2, 3, 4)
COMPILERS = {"hip": "hipcc", "cuda": "nvcc"}
HARDWARE = {3: ("nvidia", runs_on_nvidia), 4: ("amd", runs_on_amd)}
DEFAULT_TARGETS = ("gfx942", "gfx90a", "gfx1100")
_WORSE = (RungStatus.PASSED, RungStatus.NOT_CHECKED, RungStatus.FAILED)


@dataclass(frozen=True)
class PortedFile:
    """One file: its translation, and the rungs that were requested for it."""

    path: str
    written: str
    translation: Translation
    rungs: tuple[Rung, ...]
    repairs: tuple[Repair, ...] = ()
    """Calls of models about this file."""

    @property
    def is_done(self) -> bool:
        """Whether every requested rung passed, and so nothing is left unported."""
        return all(rung.status is RungStatus.PASSED for rung in self.rungs)


@dataclass(frozen=True)
class PortReport:
    """All files of one port."""

    to: str
    targets: tuple[str, ...]
    files: tuple[PortedFile, ...]

    @property
    def is_done(self) -> bool:
        return bool(self.files) and all(file.is_done for file in self.files)

    def as_json(self) -> dict[str, object]:
        """Return the report as JSON values: every construct, every rung."""
        return {
            "to": self.to,
            "targets": list(self.targets),
            "done": self.is_done,
            "files": [_file_json(file) for file in self.files],
        }


def _file_json(file: PortedFile) -> dict[str, object]:
    return {
        "path": file.path,
        "written": file.written,
        "findings": [dict(vars(f)) for f in file.translation.findings],
        "rungs": [
            {
                "name": rung.name,
                "status": str(rung.status),
                "details": list(rung.details),
                "resources": [{"target": t, **vars(r)} for t, r in rung.resources],
            }
            for rung in file.rungs
        ],
        "repairs": [dict(vars(repair)) for repair in file.repairs],
    }


def port(
    path: str | Path,
    *,
    to: str = "hip",
    targets: Sequence[str] = DEFAULT_TARGETS,
    out: str | Path | None = None,
    rungs: Sequence[int] = (0, 1),
    arguments: Sequence[str] = (),
    repairs: Repairs | None = None,
) -> PortReport:
    """Translate ``path`` (a file or a folder) ``to`` 'hip' or 'cuda', and write it under ``out``.

    Without ``out`` nothing is kept. A ``compile_commands.json`` in the folder gives each file its
    include paths and macros. Rung 2 runs the program on this machine, with ``arguments``.
    ``repairs`` are the models that are asked to finish files that the rules leave unfinished.

    Raises:
        UsageError: no such path, target or rung; ``out`` holds files that would be lost.
        DialectError: tree-sitter is not installed.
    """
    _check(targets, rungs)
    root = Path(path)
    if not root.exists():
        raise UsageError("nothing to port", seen=str(root), do="name a file or a folder")
    options = _PortOptions(to, tuple(targets), tuple(rungs), tuple(arguments))
    with tempfile.TemporaryDirectory() as scratch:
        under = Path(scratch if out is None else out)
        names = files_of(root, under)
        texts = {p: p.read_text(errors="surrogateescape") for p in names}
        code = {p: t for p, t in texts.items() if p.suffix in UNITS + HEADERS}
        included = inclusions(code)
        own, parts = names_in_reach(code, included), set().union(*included.values())
        folder = (root.parent if root.is_file() else root).resolve()
        done = {
            p: _translated(p, t, to, names[p], own.get(p, frozenset())) for p, t in texts.items()
        }
        done |= {p: with_foreign_headers(p, done[p], folder) for p in code}
        places = {p: output_path(under, name, to) for p, name in names.items()}
        flags = build_flags(folder, under)
        database = _database(places, flags, folder, under, COMPILERS[to])
        write_outputs(under, places, {places[p]: done[p].text for p in names} | database)

        is_one = root.is_file()
        headers = [p for p in names if p.suffix in HEADERS] if is_one else headers_of(root, under)
        folders = folders_of_headers(headers, code)
        files = []
        for p in names:
            found = flags.get(p.resolve()) or nearest_folders(folders, p.resolve().parent)
            beside = found.with_folder(p.resolve().parent)
            moved = beside.at(folder, under.resolve())
            original = _Original(names[p], texts[p], beside, moved, p in parts)
            place = str(places[p]) if out is not None else ""
            files.append(_checked(original, done[p], places[p], options, repairs, place))
        report = PortReport(to, tuple(targets) if to == "hip" else (), tuple(files))
        write_report(under, report.as_json(), [*places.values(), *database])
    return report


def _database(
    places: Mapping[Path, Path],
    flags: Mapping[Path, Flags],
    folder: Path,
    under: Path,
    compiler: str,
) -> dict[Path, str]:
    """Return the port's compile database by its path; empty if the sources have none."""
    units = {
        place: flags[p.resolve()].at(folder, under.resolve())
        for p, place in places.items()
        if p.resolve() in flags
    }
    return {under / DATABASE: database_of(units, under, compiler)} if units else {}


@dataclass(frozen=True)
class _Original:
    name: str
    text: str
    flags: Flags
    ported_flags: Flags
    is_included: bool = False
    """Whether another file of the project includes it."""

    @property
    def is_program(self) -> bool:
        """Whether it has a main function, and so can be run."""
        return re.search(r"\bmain\s*\(", self.text) is not None


@dataclass(frozen=True)
class _PortOptions:
    to: str
    targets: tuple[str, ...]
    rungs: tuple[int, ...]
    arguments: tuple[str, ...]


def _checked(
    original: _Original,
    translation: Translation,
    written: Path,
    options: _PortOptions,
    repairs: Repairs | None,
    place: str,
) -> PortedFile:
    """Check how far a file climbs; if rules leave it unfinished, ask the models first."""

    def climb(text: Translation) -> tuple[Rung, ...]:
        written.write_text(text.text, errors="surrogateescape")
        return _climb(original, text, written, options)

    rungs, made = climb(translation), ()
    if repairs is not None and written.suffix == ".hip":
        work = UnfinishedFile(original.name, original.text, translation.text, (), options.targets)
        translation, rungs, made = finished(work, translation, rungs, repairs, climb)
        # the file may hold the models' last try
        written.write_text(translation.text, errors="surrogateescape")
    return PortedFile(original.name, place, translation, rungs, made)


def check_targets(targets: Sequence[str]) -> None:
    """Raise a UsageError for the first target that is not an AMD target."""
    for target in targets:
        if target not in TARGETS:
            raise UsageError(f'unknown target "{target}"', seen=target, do=nearest(target, TARGETS))


def _check(targets: Sequence[str], rungs: Sequence[int]) -> None:
    check_targets(targets)
    for rung in rungs:
        if rung not in RUNGS:
            raise UsageError(f"no rung {rung}", seen=str(rung), do="choose from 0, 1, 2, 3, 4")


def _translated(path: Path, text: str, to: str, name: str, own: Iterable[str]) -> Translation:
    if path.suffix == ".py":
        return _translated_python(text, to, name)
    if path.name == BUILD or path.suffix == ".cmake":
        return translate_cmake(text, to=to, file=name)
    is_unit = path.suffix in (".cu", ".hip")
    return translate(text, to=to, file=name, own=own, implicit=is_unit)


def _translated_python(text: str, to: str, name: str) -> Translation:
    """Translate a Python file; a file in another version of Python stays as it is, because it must
    not end the port of a whole tree."""
    try:
        return translate_python(text, to=to, file=name)
    except UsageError as error:
        reason, advice = f"it is not Python 3: {error.seen}", "port its device code by hand"
        left = Finding(1, State.UNPORTED, name, reason=reason, advice=advice, file=name)
        return Translation(text, (left,))


def _climb(
    original: _Original, translation: Translation, written: Path, options: _PortOptions
) -> tuple[Rung, ...]:
    # it is checked together with the files that include it
    is_part = original.is_included and not original.is_program
    is_unit = written.suffix in (".hip", ".cu") and not is_part
    rungs = []
    for number in sorted(set(options.rungs)):
        if number == 0:
            rungs.append(lint(translation))
        elif number == 1 and is_unit:
            rungs.append(_compile(written, options, original.ported_flags))
        elif number == 1 and written.suffix == ".py":
            rungs.append(_compile_strings(translation.text, options))
        elif number == 2 and is_unit and original.is_program:
            rungs.append(
                emulates(
                    original.text,
                    translation.text,
                    flags=original.flags,
                    ported_flags=original.ported_flags,
                    arguments=options.arguments,
                    file=written.name,
                )
            )
        elif number == 2 and original.is_program and written.suffix in UNITS:
            why = "a program whose device code is in other files is not run"
            rungs.append(Rung("emulate", RungStatus.NOT_CHECKED, (why,)))
        elif number in HARDWARE and is_unit:
            rungs.append(_on_hardware(number, original, written, options))
    return tuple(rungs)


def _on_hardware(number: int, original: _Original, written: Path, options: _PortOptions) -> Rung:
    """Rung 3 or 4, for a program; the original is copied beside the port for its includes."""
    name, climb = HARDWARE[number]
    if options.to != "hip" or not original.is_program:
        why = "only programs (with a main function) ported to HIP are run"
        return Rung(name, RungStatus.NOT_CHECKED, (why,))
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, f"{written.stem}.cu")
        before.write_text(original.text, errors="surrogateescape")
        flags, ported = original.flags, original.ported_flags
        program = HardwareRun(
            ported.includes, options.arguments, flags.defines, original_includes=flags.includes
        )
        return climb(before, written, program)


def _compile(written: Path, options: _PortOptions, flags: Flags) -> Rung:
    if options.to != "hip":
        return compiles_for_nvidia(written, flags)
    defines = tuple(f"-D{define}" for define in flags.defines)
    return compiles(written, targets=options.targets, includes=flags.includes, flags=defines)


def _compile_strings(text: str, options: _PortOptions) -> Rung:
    """Rung 1 of a Python file: compile each of its device texts as runtime compilers see it."""
    texts = device_texts(text)
    if options.to != "hip" or not texts:
        return Rung("compile", RungStatus.NOT_CHECKED, ("no device code in its strings",))
    with tempfile.TemporaryDirectory() as folder:
        rungs = []
        for number, device_text in enumerate(texts, 1):
            path = Path(folder, f"string{number}.hip")
            path.write_text(f"#include <hip/hip_runtime.h>\n#line 1\n{device_text}")
            rungs.append(compiles(path, targets=options.targets, includes=(), flags=()))
    worst = max((rung.status for rung in rungs), key=_WORSE.index)
    details = tuple(detail for rung in rungs for detail in rung.details)
    return Rung("compile", worst, details, tuple(r for rung in rungs for r in rung.resources))
