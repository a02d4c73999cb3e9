"""Ports of a file, a folder, or a project with a compile database: translated, written, checked."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.core.errors import UsageError, nearest
from kernelwright.dialects.amdgpu import TARGETS
from kernelwright.dialects.simt.machine import BuildError, emulation_missing
from kernelwright.hipify import (
    Finding,
    State,
    Translation,
    functions_header,
    translate,
    translate_cmake,
    translate_make,
    translate_python,
)
from kernelwright.hipify.python_text import device_texts, has_formatted_texts
from kernelwright.port.build_flags import (
    DATABASE,
    NO_FLAGS,
    Flags,
    build_flags,
    database_of,
    nearest_folders,
)
from kernelwright.port.emulated import NO_OPTIONS, RunOptions, at_folder, emulates
from kernelwright.port.exact import read_exact, write_exact
from kernelwright.port.finishing import finished
from kernelwright.port.hardware import HardwareRun, runs_on_amd, runs_on_nvidia
from kernelwright.port.instructions import emulated_target, executes
from kernelwright.port.ladder import (
    DeviceUnit,
    Rung,
    RungStatus,
    compiles,
    compiles_for_nvidia,
    lint,
)
from kernelwright.port.outputs import output_path, write_outputs, write_report
from kernelwright.port.programs import Builder, Program, Unit
from kernelwright.port.reach import Inclusions, folders_of_headers, inclusions, names_in_reach
from kernelwright.port.report import PortedFile, PortReport
from kernelwright.port.tree import (
    UNITS,
    companions_of,
    files_of,
    headers_of,
    is_build_file,
    is_code,
    is_header,
    is_makefile,
    with_foreign_headers,
)
from kernelwright.proposers.port.repair import Repair, Repairs, UnfinishedFile

RUNGS = (0, 1, 2, 3, 4, 5)
DEFAULT_RUNGS = (0, 1)
EMULATED = 2
INSTRUCTIONS = 5
FUNCTIONS = "port_functions.h"
"""Header of the helper functions of a project's port."""
REPORTED_EVERY_S = 2.0
"""Time between two reports while files are checked."""
COMPILERS = {"hip": "hipcc", "cuda": "nvcc"}
HARDWARE = {3: ("nvidia", runs_on_nvidia), 4: ("amd", runs_on_amd)}
NO_MAIN = "only programs (with a main function) ported to HIP are run"
"""Detail of rungs 3 and 4 for a unit that cannot be run."""
DEFAULT_TARGETS = ("gfx942", "gfx90a", "gfx1100")
_WORSE = (RungStatus.PASSED, RungStatus.NOT_CHECKED, RungStatus.FAILED)


@dataclass(frozen=True)
class PortOptions:
    """The options of a port, besides its path."""

    to: str = "hip"
    targets: tuple[str, ...] = DEFAULT_TARGETS
    rungs: tuple[int, ...] | None = None
    """The rungs to climb; by default 0 and 1, as far as there is something to compile."""
    running: RunOptions = NO_OPTIONS
    flags: Flags = NO_FLAGS
    """Include paths and macros for every file, besides those of the project's database."""
    exclude: tuple[str, ...] = ()
    """Patterns of paths in the project that are left alone."""
    is_strict: bool = False
    has_one_header: bool = True
    """Whether a project's helper functions are in one header, not in each file that needs them."""

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(set(DEFAULT_RUNGS if self.rungs is None else self.rungs)))


def port(
    path: str | Path,
    *,
    to: str = "hip",
    targets: Sequence[str] = DEFAULT_TARGETS,
    out: str | Path | None = None,
    rungs: Sequence[int] | None = None,
    repairs: Repairs | None = None,
) -> PortReport:
    """Translate ``path`` (a file or a folder) ``to`` 'hip' or 'cuda', and write it under ``out``.

    Without ``out`` nothing is kept. A ``compile_commands.json`` in the folder gives each file its
    include paths and macros. Rung 2 runs programs on this machine. ``repairs`` are the models that
    are asked to finish files that the rules leave unfinished. :func:`port_with` takes more options.

    Raises:
        UsageError: no such path, target or rung; ``out`` holds files that would be lost.
        DialectError: tree-sitter is not installed.
    """
    numbers = None if rungs is None else tuple(rungs)
    return port_with(path, PortOptions(to, tuple(targets), numbers), out=out, repairs=repairs)


def port_with(
    path: str | Path,
    options: PortOptions,
    *,
    out: str | Path | None = None,
    repairs: Repairs | None = None,
) -> PortReport:
    """Translate ``path`` as :func:`port` does, with these ``options``.

    The report is written before the first check and again while files are checked, so that a run
    that is stopped leaves what it knew.
    """
    _check(options)
    root = Path(path)
    if not root.exists():
        raise UsageError("nothing to port", seen=str(root), do="name a file or a folder")
    with tempfile.TemporaryDirectory() as scratch:
        under = Path(scratch if out is None else out)
        project = _Project(root, under, options)
        project.write()
        report = project.report((), is_whole=False)
        write_report(under, report.as_json(), project.written)
        files: list[PortedFile] = []
        told = time.monotonic()
        for path_ in project.checked:
            files.append(project.check(path_, repairs, is_kept=out is not None))
            if time.monotonic() - told > REPORTED_EVERY_S:
                report = project.report(files, is_whole=False)
                write_report(under, report.as_json(), project.written)
                told = time.monotonic()
        report = project.report(project.with_unrun(files))
        write_report(under, report.as_json(), project.written)
        return report


class _Project:
    """The files of one port, read and translated."""

    def __init__(self, root: Path, under: Path, options: PortOptions) -> None:
        self.root, self.under, self.options = root, under, options
        self.names = files_of(root, under, options.exclude)
        self.companions = companions_of(root, under, self.names, options.exclude)
        self.folder = (root.parent if root.is_file() else root).resolve()
        self.texts = {p: read_exact(p) for p in (*self.names, *self.companions)}
        self.places = {
            **{p: output_path(under, name, options.to) for p, name in self.names.items()},
            **{p: under / name for p, name in self.companions.items()},
        }
        code = {p: t for p, t in self.texts.items() if is_code(p)}
        included = inclusions(code)
        self._parts = set().union(*included.values())
        self._translations = self._translated(code, included)
        self._flags = build_flags(self.folder, under)
        self._folders = folders_of_headers(self._headers(), code)

    def _headers(self) -> list[Path]:
        if self.root.is_file():
            return [p for p in self.names if is_header(p)]
        return headers_of(self.root, self.under, self.options.exclude)

    def _translated(
        self, code: Mapping[Path, str], included: Inclusions
    ) -> dict[Path, Translation]:
        to = self.options.to
        own = names_in_reach(code, included)
        renamed = {
            Path(name).name: self.places[p].name
            for p, name in self.names.items()
            if self.places[p].name != Path(name).name
        }
        done = {
            p: translate(
                self.texts[p],
                to=to,
                file=self.names[p],
                own=own.get(p, frozenset()),
                implicit=p.suffix in (".cu", ".hip"),
                header=self._header_for(p, len(code)),
            )
            if p in code
            else _translated(p, self.texts[p], to, name, renamed)
            for p, name in self.names.items()
        }
        return done | {
            p: with_foreign_headers(p, done[p], self.folder) for p in code if p in self.names
        }

    def _header_for(self, path: Path, n_files: int) -> str:
        """Return the name by which a file includes the header of helper functions; empty if it
        holds them itself."""
        if not self.options.has_one_header or n_files == 1:
            return ""
        return os.path.relpath(self.under / FUNCTIONS, self.places[path].parent)

    @property
    def _has_functions(self) -> bool:
        return any(
            f'{FUNCTIONS}"\n' in t.text.replace("\r", "") for t in self._translations.values()
        )

    @property
    def checked(self) -> list[Path]:
        """The files that are checked: those that are ported, and programs that need no port."""
        return [*self.names, *(p for p in self.companions if self._is_program(p))]

    @property
    def written(self) -> list[Path]:
        database = self.under / DATABASE
        made = [database] if self._has_database else []
        made += [self.under / FUNCTIONS] if self._has_functions else []
        return [*self.places.values(), *made]

    @property
    def _has_database(self) -> bool:
        return any(p.resolve() in self._flags for p in self.places)

    def _is_program(self, path: Path) -> bool:
        return path.suffix in UNITS and self._unit(path).is_program

    def write(self) -> None:
        """Write the port, with a compile database if the sources have one."""
        compiler = COMPILERS[self.options.to]
        database = _database(self.places, self._flags, self.folder, self.under, compiler)
        texts = {
            place: self._translations[p].text if p in self._translations else self.texts[p]
            for p, place in self.places.items()
        }
        if self._has_functions:
            needs = dict.fromkeys(need for t in self._translations.values() for need in t.needs)
            texts[self.under / FUNCTIONS] = functions_header(needs)
        write_outputs(self.under, self.places, texts | database)

    def report(self, files: Sequence[PortedFile], *, is_whole: bool = True) -> PortReport:
        options = self.options
        return PortReport(
            options.to,
            options.targets if options.to == "hip" else (),
            tuple(files),
            () if options.rungs is None else options.numbers,
            tuple(self.companions.values()),
            is_whole,
            options.is_strict,
        )

    def _name(self, path: Path) -> str:
        return self.names.get(path) or self.companions[path]

    def _flags_of(self, path: Path) -> Flags:
        """Return the flags of an original: its database's or those of the project's folders."""
        at, given = path.resolve(), self.options.flags
        found = self._flags.get(at) or nearest_folders(self._folders, at.parent)
        beside = found.with_folder(at.parent)
        return Flags((*beside.includes, *given.includes), (*beside.defines, *given.defines))

    def _unit(self, path: Path) -> Unit:
        return Unit(self._name(path), self.texts[path], self._flags_of(path))

    def _ported_unit(self, path: Path, text: str | None = None) -> Unit:
        if text is None:
            known = self._translations.get(path)
            text = self.texts[path] if known is None else known.text
        flags = self._flags_of(path).at(self.folder, self.under.resolve())
        name = str(self.places[path].relative_to(self.under))
        return Unit(name, text, flags)

    def _others(self, path: Path) -> list[Path]:
        """Return the units that a program may be linked with."""
        return [
            p
            for p in self.places
            if p != path and p.suffix in UNITS and p not in self._parts and not self._is_program(p)
        ]

    def check(self, path: Path, repairs: Repairs | None, *, is_kept: bool) -> PortedFile:
        """Check how far a file climbs; if rules leave it unfinished, ask the models first."""
        written, name = self.places[path], self._name(path)
        translation = self._translations.get(path) or Translation(self.texts[path], ())

        def climb(text: Translation) -> tuple[Rung, ...]:
            write_exact(written, text.text)
            self._translations[path] = text
            return self._climb(path, text)

        rungs, made = climb(translation), tuple[Repair, ...]()
        if repairs is not None and written.suffix == ".hip":
            targets = self.options.targets
            work = UnfinishedFile(name, self.texts[path], translation.text, (), targets)
            translation, rungs, made = finished(work, translation, rungs, repairs, climb)
            # the file may hold the models' last try
            write_exact(written, translation.text)
            self._translations[path] = translation
        place = str(written) if is_kept else ""
        return PortedFile(name, place, translation, rungs, made, self.texts[path])

    def _climb(self, path: Path, translation: Translation) -> tuple[Rung, ...]:
        written, is_program = self.places[path], self._is_program(path)
        # a part is checked together with the files that include it
        is_part = path in self._parts and not is_program
        is_unit = written.suffix in (".hip", ".cu") and not is_part
        rungs = []
        for number in self.options.numbers:
            if number == 0 and path in self.names:
                rungs.append(lint(translation, is_build=is_build_file(path)))
            elif number == 1 and is_unit:
                rungs.append(self._compile(path))
            elif number == 1 and written.suffix == ".py" and _has_kernels(translation.text):
                rungs.append(_compile_strings(translation.text, self.options))
            elif number == 2 and is_program:
                rungs.append(self._emulate(path, translation.text))
            elif number == INSTRUCTIONS and is_program and self.options.to == "hip":
                rungs.append(self._execute(path, translation.text))
            elif number in HARDWARE and (is_unit or is_program):
                linked = next((r.units for r in rungs if r.name == "emulate"), ())
                rungs.append(self._on_hardware(number, path, linked))
        return tuple(rungs)

    def _compile(self, path: Path) -> Rung:
        """Rung 1 of a unit, with those of the others whose device code it calls."""
        if self.options.to != "hip":
            return compiles_for_nvidia(self.places[path], self._ported_unit(path).flags)
        others = [self._device_unit(p) for p in self._others(path)]
        return compiles(self._device_unit(path), targets=self.options.targets, others=others)

    def _device_unit(self, path: Path) -> DeviceUnit:
        flags = self._ported_unit(path).flags
        return DeviceUnit(self.places[path], flags.includes, flags.defines)

    def _programs(self, path: Path, ported: str) -> tuple[Program, Program]:
        """Return the original program of a file's main function, and its port."""
        others = self._others(path)
        original = Program(self._unit(path), tuple(self._unit(p) for p in others))
        port_ = Program(
            self._ported_unit(path, ported), tuple(self._ported_unit(p) for p in others)
        )
        return original, port_

    def _running(self, path: Path) -> RunOptions:
        return at_folder(self.options.running, None if self.root.is_file() else path.parent)

    def _emulate(self, path: Path, ported: str) -> Rung:
        return emulates(*self._programs(path, ported), self._running(path))

    def _execute(self, path: Path, ported: str) -> Rung:
        target = emulated_target(self.options.targets)
        return executes(*self._programs(path, ported), target, self._running(path))

    def with_unrun(self, files: Sequence[PortedFile]) -> list[PortedFile]:
        """Return the files; those with device code that no program ran say so, if rung 2 was asked
        for."""
        if EMULATED not in self.options.numbers:
            return list(files)
        run = {unit for file in files for rung in file.rungs for unit in rung.units}
        done = []
        for path, file in zip(self.checked, files, strict=True):
            is_unit = path.suffix in (".cu", ".hip") and path not in self._parts
            is_code = is_unit or (path.suffix == ".py" and _has_kernels(file.original))
            written = str(self.places[path].relative_to(self.under))
            if is_code and written not in run and not any(r.name == "emulate" for r in file.rungs):
                why = "no program of the project was run with it"
                rung = Rung("emulate", RungStatus.NOT_CHECKED, (why,))
                file = replace(file, rungs=(*file.rungs, rung))
            done.append(file)
        return done

    def _on_hardware(self, number: int, path: Path, linked: Sequence[str]) -> Rung:
        """Rung 3 or 4, for a program; ``linked`` are the units that rung 2 linked, if it ran. The
        original's main unit is copied, because a repair may have changed its text."""
        name, climb = HARDWARE[number]
        if self.options.to != "hip" or not self._is_program(path):
            return Rung(name, RungStatus.NOT_CHECKED, (NO_MAIN,))
        others = [p for p in self._others(path) if self._ported_unit(p).name in linked]
        if not linked:
            others = self._needed(path)
        with tempfile.TemporaryDirectory() as folder:
            suffix = ".cu" if path.suffix == ".hip" else path.suffix
            before = Path(folder, f"{path.stem}{suffix}")
            write_exact(before, self.texts[path])
            flags = self._flags_of(path)
            originals = [DeviceUnit(before, flags.includes, flags.defines)]
            for p in others:
                flags = self._flags_of(p)
                originals.append(DeviceUnit(p, flags.includes, flags.defines))
            ports = tuple(self._device_unit(p) for p in (path, *others))
            running = self._running(path)
            return climb(HardwareRun(tuple(originals), ports, running))

    def _needed(self, path: Path) -> list[Path]:
        """Return the units that a program is linked with, as the emulation links it: all others
        where there is no emulation, none if the program cannot be built there."""
        others = self._others(path)
        if not others or emulation_missing() is not None:
            return others
        program = Program(self._unit(path), tuple(self._unit(p) for p in others))
        with tempfile.TemporaryDirectory() as folder:
            try:
                _, linked = Builder(Path(folder)).build(program)
            except BuildError:
                return []
        return [p for p in others if self._name(p) in linked]


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


def check_targets(targets: Sequence[str]) -> None:
    """Raise a UsageError for the first target that is not an AMD target."""
    for target in targets:
        if target not in TARGETS:
            raise UsageError(f'unknown target "{target}"', seen=target, do=nearest(target, TARGETS))


def _check(options: PortOptions) -> None:
    check_targets(options.targets)
    for rung in options.numbers:
        if rung not in RUNGS:
            raise UsageError(f"no rung {rung}", seen=str(rung), do="choose from 0, 1, 2, 3, 4, 5")


def _translated(
    path: Path, text: str, to: str, name: str, renamed: Mapping[str, str]
) -> Translation:
    """Translate a file of Python or of a build system."""
    if path.suffix == ".py":
        return _translated_python(text, to, name, renamed)
    if is_makefile(path):
        return translate_make(text, to=to, file=name)
    return translate_cmake(text, to=to, file=name)


def _translated_python(text: str, to: str, name: str, renamed: Mapping[str, str]) -> Translation:
    """Translate a Python file; a file in another version of Python stays as it is, because it must
    not end the port of a whole tree."""
    try:
        return translate_python(text, to=to, file=name, renamed=renamed)
    except UsageError as error:
        reason, advice = f"it is not Python 3: {error.seen}", "port its device code by hand"
        left = Finding(1, State.UNPORTED, name, reason=reason, advice=advice, file=name)
        return Translation(text, (left,))


def _has_kernels(python: str) -> bool:
    return bool(device_texts(python)) or has_formatted_texts(python)


def _compile_strings(text: str, options: PortOptions) -> Rung:
    """Rung 1 of a Python file: compile each of its device texts as runtime compilers see it."""
    texts = device_texts(text)
    if options.to != "hip" or has_formatted_texts(text) or not texts:
        is_formatted = has_formatted_texts(text)
        why = "it formats device code when it runs" if is_formatted else "no device code in strings"
        return Rung("compile", RungStatus.NOT_CHECKED, (why,))
    with tempfile.TemporaryDirectory() as folder:
        rungs = []
        for number, device_text in enumerate(texts, 1):
            path = Path(folder, f"string{number}.hip")
            path.write_text(f"#include <hip/hip_runtime.h>\n#line 1\n{device_text}")
            rungs.append(compiles(DeviceUnit(path), targets=options.targets))
    worst = max((rung.status for rung in rungs), key=_WORSE.index)
    details = tuple(detail for rung in rungs for detail in rung.details)
    return Rung("compile", worst, details, tuple(r for rung in rungs for r in rung.resources))
