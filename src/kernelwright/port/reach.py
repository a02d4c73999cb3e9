"""Which names a file of a project sees: its own, and those of the files that it includes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernelwright.dialects.simt.source import Source
from kernelwright.propose.port.names import declared

_INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)


def names_in_reach(texts: Mapping[Path, str]) -> dict[Path, frozenset[str]]:
    """The names declared in each file and in the files of ``texts`` that it includes, and theirs.

    A name that another program of the same tree declares is not among them: there it may be CUDA's.
    Where several files have the name that is included, the one beside the includer is meant, else
    all of them.
    """
    own = {path: declared(Source(_bytes(text))) for path, text in texts.items()}
    by_name: dict[str, list[Path]] = {}
    for path in texts:
        by_name.setdefault(path.name, []).append(path)
    included = {path: set(_included(path, text, by_name)) for path, text in texts.items()}
    return {path: frozenset().union(*(own[p] for p in _reached(path, included))) for path in texts}


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _included(path: Path, text: str, by_name: Mapping[str, list[Path]]) -> Iterator[Path]:
    for written in _INCLUDE.findall(text):
        wanted = Path(written)
        found = [p for p in by_name.get(wanted.name, ()) if _ends_with(p, wanted)]
        beside = [p for p in found if p == path.parent / wanted]
        yield from beside or found


def _ends_with(path: Path, wanted: Path) -> bool:
    parts = [part for part in wanted.parts if part not in (".", "..")]
    return list(path.parts[-len(parts) :]) == parts


def _reached(path: Path, included: Mapping[Path, set[Path]]) -> set[Path]:
    seen, left = {path}, [path]
    while left:
        left += (new := included[left.pop()] - seen)
        seen |= new
    return seen
