"""A port: its files, what was met in them, and the rungs that they reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelwright.hipify import Finding, State, Translation
from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.proposers.port.repair import Repair

RUNG_NAMES = (("lint", "build"), ("compile",), ("emulate",), ("nvidia",), ("amd",), ("isa",))
"""Names of each rung, by its number; a build file's rung 0 is called 'build'."""
BUILD_RUNG = "build"


@dataclass(frozen=True)
class PortedFile:
    """One file: its translation, and the rungs that were requested for it."""

    path: str
    written: str
    translation: Translation
    rungs: tuple[Rung, ...]
    repairs: tuple[Repair, ...] = ()
    """Calls of models about this file."""
    original: str = ""
    """The text before the port."""

    @property
    def is_build(self) -> bool:
        """Whether it is a file of a build system, whose verdict is one of its own."""
        return any(rung.name == BUILD_RUNG for rung in self.rungs)

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
    asked: tuple[int, ...] = ()
    """Rungs that must have passed for at least one file: those that the user named."""
    copied: tuple[str, ...] = ()
    """Files that belong to the project and were copied as they are."""
    is_whole: bool = True
    """Whether all files were checked: a run that was stopped leaves a report that is not whole."""
    is_strict: bool = False
    """Whether constructs whose meaning changed count as unfinished, and build files as code."""

    @property
    def is_done(self) -> bool:
        """Whether the code of all files passed every requested rung, and each rung that was asked
        for was climbed."""
        code = [file for file in self.files if self.is_strict or not file.is_build]
        if not self.is_whole or not all(file.is_done for file in code):
            return False
        if self.is_strict and any(f.state is State.CHANGED for _, f in self.findings):
            return False
        return bool(self.files) and not self.unclimbed

    @property
    def is_build_done(self) -> bool:
        """Whether nothing is left unported in build files."""
        return all(file.is_done for file in self.files if file.is_build)

    @property
    def unclimbed(self) -> tuple[int, ...]:
        """The rungs that were asked for and that no file climbed."""
        names = {r.name for f in self.files for r in f.rungs if r.status is RungStatus.PASSED}
        return tuple(n for n in self.asked if not names & set(RUNG_NAMES[n]))

    @property
    def findings(self) -> Iterator[tuple[PortedFile, Finding]]:
        for file in self.files:
            for finding in file.translation.findings:
                yield file, finding

    def rungs_named(self, name: str) -> list[Rung]:
        return [rung for file in self.files for rung in file.rungs if rung.name == name]

    @property
    def summary(self) -> str:
        """One line: what compiles, what runs and agrees, what is left."""
        parts = []
        compiled = self.rungs_named("compile")
        if compiled:
            n = len(self.targets)
            for_targets = f" for {_counted(n, 'target')}" if n else ""
            units = f"{_passed(compiled)} of {_counted(len(compiled), 'unit')}"
            parts.append(f"{units} {_verb('compile', len(compiled))}{for_targets}")
        for name, where in (
            ("emulate", ""),
            ("nvidia", " on NVIDIA"),
            ("amd", " on AMD"),
            ("isa", " as AMD instructions"),
        ):
            rungs = [r for r in self.rungs_named(name) if r.units]
            if rungs:
                values = sum(n for r in rungs if r.status is RungStatus.PASSED for _, n in r.values)
                programs = f"{_passed(rungs)} of {_counted(len(rungs), 'program')}"
                run, agree = _verb("run", len(rungs)), _verb("agree", len(rungs))
                on_values = f" on {_counted(values, 'value')}" if values else ""
                parts.append(f"{programs} {run}{where} and {agree}{on_values}")
        parts.append(f"{_counted(self._left(is_build=False), 'construct')} left")
        if any(file.is_build for file in self.files):
            parts.append(f"{_counted(self._left(is_build=True), 'word')} left in build files")
        return ", ".join(parts)

    def _left(self, *, is_build: bool) -> int:
        return sum(len(f.translation.unported) for f in self.files if f.is_build is is_build)

    def as_json(self) -> dict[str, object]:
        """Return the report as JSON values: every construct, every rung."""
        return {
            "to": self.to,
            "targets": list(self.targets),
            "done": self.is_done,
            "build_done": self.is_build_done,
            "whole": self.is_whole,
            "not_climbed": list(self.unclimbed),
            "summary": self.summary,
            "files": [_file_json(file) for file in self.files],
            "copied": list(self.copied),
        }


def _passed(rungs: Sequence[Rung]) -> int:
    return sum(rung.status is RungStatus.PASSED for rung in rungs)


def _verb(word: str, n: int) -> str:
    return word if n != 1 else f"{word}s"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


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
                "values": dict(rung.values),
                "units": list(rung.units),
                "resources": [{"target": t, **vars(r)} for t, r in rung.resources],
            }
            for rung in file.rungs
        ],
        "repairs": [dict(vars(repair)) for repair in file.repairs],
    }
