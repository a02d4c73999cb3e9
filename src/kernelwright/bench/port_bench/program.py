"""The programs of the port benchmark, read from the folder ``programs``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelwright.core.errors import UsageError, nearest

PROGRAMS = Path(__file__).parent / "programs"
_HEAD = re.compile(r"^// (domain|hazards|expect): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class BenchProgram:
    """One program of the port benchmark."""

    name: str
    domain: str
    hazards: tuple[str, ...]
    expected: str
    source: str


@cache
def programs() -> tuple[BenchProgram, ...]:
    """Return all programs, in order of name."""
    return tuple(read_program(path) for path in sorted(PROGRAMS.glob("*.cu")))


def chosen(words: Sequence[str]) -> list[BenchProgram]:
    """Return the programs with these names or domains; all programs if no word is given.

    Raises:
        UsageError: a word is neither a program nor a domain.
    """
    known = {p.name for p in programs()} | {p.domain for p in programs()}
    for word in words:
        if word not in known:
            raise UsageError(f'no program or domain "{word}"', seen=word, do=nearest(word, known))
    return [p for p in programs() if not words or {p.name, p.domain} & set(words)]


def read_program(path: Path) -> BenchProgram:
    """Return the program of one file."""
    source = path.read_text()
    head = dict(_HEAD.findall(source))
    hazards = tuple(h for h in head["hazards"].split() if h != "none")
    return BenchProgram(path.stem, head["domain"], hazards, head["expect"], source)
