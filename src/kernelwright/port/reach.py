"""Inclusions between the files of a project, and the names that each file sees through them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernelwright.dialects.simt.source import Source
from kernelwright.hipify.names import declared
from kernelwright.port.exact import read_exact

Inclusions = Mapping[Path, set[Path]]
_INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_QUOTED = re.compile(r"^\s*#\s*include\s*\"([^\"\n]+)\"", re.MULTILINE)


def inclusions(texts: Mapping[Path, str]) -> dict[Path, set[Path]]:
    """Return the files of ``texts`` that each of them includes.

    If several files have the included name, the one beside the includer is meant, otherwise all of
    them.
    """
    by_name: dict[str, list[Path]] = {}
    for path in texts:
        by_name.setdefault(path.name, []).append(path)
    return {path: set(_included(path, text, by_name)) for path, text in texts.items()}


def names_in_reach(texts: Mapping[Path, str], included: Inclusions) -> dict[Path, frozenset[str]]:
    """Return the names declared in each file, in the files that it includes, and in theirs in turn.

    A name that another program of the same tree declares is not included, because here it may be
    CUDA's.
    """
    own = {path: declared(Source(_bytes(text))) for path, text in texts.items()}
    return {path: frozenset().union(*(own[p] for p in _reached(path, included))) for path in texts}


def folders_of_headers(headers: Sequence[Path], known: Mapping[Path, str]) -> list[Path]:
    """Return the folders that hold headers, and those from which includes lead to them: for
    ``inc/lib/a.h``, included as ``lib/a.h`` by a header or a ``known`` text, also ``inc``."""
    unread = (path for path in headers if path not in known)
    texts = [*known.values(), *(read_exact(path) for path in unread)]
    by_name: dict[str, list[Path]] = {}
    for path in headers:
        by_name.setdefault(path.name, []).append(path.resolve())
    found = dict.fromkeys(path.resolve().parent for path in headers)
    for written in dict.fromkeys(w for text in texts for w in _INCLUDE.findall(text)):
        wanted = Path(written)
        for path in by_name.get(wanted.name, ()):
            if path.parts[-len(wanted.parts) :] == wanted.parts:
                found[path.parents[len(wanted.parts) - 1]] = None
    return list(found)


def with_includes(path: Path) -> Iterator[Path]:
    """Yield a file, and, transitively, the files in or below its folder that are included in
    quotes."""
    seen, left = {path}, [path]
    while left:
        at = left.pop(0)
        yield at
        for written in _QUOTED.findall(at.read_text(errors="replace")):
            name = Path(os.path.relpath(at.parent / written, path.parent))
            found = path.parent / name
            is_below = ".." not in name.parts
            is_below &= found.resolve().is_relative_to(path.parent.resolve())
            if is_below and found.is_file() and found not in seen:
                seen.add(found)
                left.append(found)


def includes_outside(path: Path, folder: Path) -> Iterator[tuple[int, str, Path]]:
    """Yield the files outside ``folder`` that ``path`` includes in quotes: the line, the name as
    written, and the file's path."""
    text = path.read_text(errors="replace")
    for match in _QUOTED.finditer(text):
        found = Path(os.path.normpath(path.parent / match[1]))
        if found.is_file() and not found.resolve().is_relative_to(folder.resolve()):
            yield text.count("\n", 0, match.start(1)) + 1, match[1], found


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


def _reached(path: Path, included: Inclusions) -> set[Path]:
    seen, left = {path}, [path]
    while left:
        left += (new := included[left.pop()] - seen)
        seen |= new
    return seen
