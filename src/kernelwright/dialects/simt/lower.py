"""Lowering of CUDA or HIP text to C++ for the emulation's headers; line numbers stay the same."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kernelwright.dialects.simt.source import (
    Edit,
    Source,
    apply_edits,
    arguments,
    callee,
    with_launches,
)

NULLS = ("0", "NULL", "0L")
"""Arguments that may be null pointers: a copy of them would be an integer."""
BY_POINTERS = re.compile(r"(cuda|hip)(Launch|LaunchCooperative)Kernel")
_INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_CAST = re.compile(
    r"^(?:\(\s*(?:const\s+)?void\s*\*\s*\)|reinterpret_cast<\s*(?:const\s+)?void\s*\*\s*>)\s*(.*)$",
    re.DOTALL,
)


def lower(text: str) -> str:
    """Return ``text`` with launches and shared memory written as calls of the emulation.

    Not covered: launches and shared memory that macros hide from the syntax tree; inline PTX and
    AMD assembly.
    """
    source = Source(with_launches(text.encode(errors="surrogateescape")))
    edits = [*_launches(source), *_launches_by_pointers(source), *_shared(source)]
    return apply_edits(source.text, edits).decode(errors="surrogateescape")


def lower_headers(
    text: str, includes: Sequence[Path], to: Path, lowered: Callable[[str], str] = lower
) -> Path:
    """Write the files that ``text`` includes from ``includes``, ``lowered``, to a folder below
    ``to``.

    Each is at the path by which its includer names it, so that the folder can be searched first.
    """
    top = to / "up" / "up" / "up"  # include paths may go up
    top.mkdir(parents=True, exist_ok=True)
    left: list[tuple[str, Path, Path | None]] = [(text, top, None)]
    while left:
        said, at, beside = left.pop()
        for written in _INCLUDE.findall(said):
            places = [*([beside] if beside else []), *includes]
            found = next((p / written for p in places if (p / written).is_file()), None)
            is_beside = beside is not None and found == beside / written
            target = Path(os.path.normpath((at if is_beside else top) / written))
            if found is None or target.exists() or not target.is_relative_to(to):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            inside = found.read_text(errors="surrogateescape")
            target.write_text(lowered(inside), errors="surrogateescape")
            left.append((inside, target.parent, found.parent))
    return top


def _launches(source: Source) -> Iterator[Edit]:
    for node in source.nodes("kernel_call_syntax"):
        call = node.parent
        kernel = call.child_by_field_name("function")
        listed = call.child_by_field_name("arguments")
        if kernel is None or listed is None:
            continue
        inside = source.exact(node.start_byte + 3, node.end_byte - 3)
        given = arguments(call)
        nulls = [source.text_of(argument) in NULLS for argument in given]
        words = [
            source.text_of(argument) if is_null else f"simt_{i}"
            for i, (argument, is_null) in enumerate(zip(given, nulls, strict=True))
        ]
        kept = ", ".join(f"auto simt_{i}" for i, is_null in enumerate(nulls) if not is_null)
        parameters, passed = (
            (kept, ", ".join(words)) if any(nulls) else ("auto... simt_a", "simt_a...")
        )
        comma = ", " if kept else ""
        yield Edit(
            call.start_byte,
            listed.start_byte + 1,
            f"simt::launch(simt::config({inside}), [&]({parameters}) {{ simt::simt_enter(); "
            f"{source.text_of(kernel)}({passed}); }}{comma}",
        )
        yield from _without_nulls(given, nulls)


def _without_nulls(given: list[Any], nulls: list[bool]) -> Iterator[Edit]:
    """Yield edits that leave out arguments, each with the comma that separates it."""
    kept = [i for i, is_null in enumerate(nulls) if not is_null]
    for i, argument in enumerate(given):
        if not nulls[i]:
            continue
        following = next((k for k in kept if k > i), None)
        if following is not None and following == i + 1:
            yield Edit(argument.start_byte, given[following].start_byte, "")
        elif following is None and i and not nulls[i - 1]:
            yield Edit(given[i - 1].end_byte, argument.end_byte, "")
        elif i + 1 < len(given):
            yield Edit(argument.start_byte, given[i + 1].start_byte, "")
        else:
            start = given[i - 1].end_byte if i and kept else argument.start_byte
            yield Edit(start, argument.end_byte, "")


def _launches_by_pointers(source: Source) -> Iterator[Edit]:
    for call in source.nodes("call_expression"):
        if not BY_POINTERS.fullmatch(callee(source, call)) or not arguments(call):
            continue
        kernel = arguments(call)[0]
        if match := _CAST.match(source.text_of(kernel)):
            yield Edit(kernel.start_byte, kernel.end_byte, match[1])


def _shared(source: Source) -> Iterator[Edit]:
    for node in source.nodes("declaration"):
        marks = [c for c in node.children if source.text_of(c) in ("__shared__", "extern")]
        if not any(source.text_of(mark) == "__shared__" for mark in marks):
            continue
        kind = node.child_by_field_name("type")
        if kind is None:
            continue
        base = source.text_of(kind)
        if re.match(r"[^=(]*\bvolatile\b", source.exact(node.start_byte, kind.end_byte)):
            base = f"volatile {base}"
        is_extern = any(source.text_of(mark) == "extern" for mark in marks)
        declared = [
            _declaration(source, declarator, base, is_extern)
            for declarator in node.children_by_field_name("declarator")
        ]
        if all(declared):
            lines = source.text[node.start_byte : node.end_byte].count(b"\n")
            yield Edit(node.start_byte, node.end_byte, " ".join(declared) + "\n" * lines)


def _declaration(source: Source, declarator: Any, base: str, is_extern: bool) -> str:
    """Return one shared variable as a reference into the block's memory; empty if it is not one."""
    extents = ""
    if declarator.type == "init_declarator":
        declarator = declarator.child_by_field_name("declarator")
    while declarator.type == "array_declarator":
        size = declarator.child_by_field_name("size")
        extents = f"[{source.text_of(size) if size else ''}]" + extents
        declarator = declarator.child_by_field_name("declarator")
    while declarator.type == "pointer_declarator":
        base += "*"
        declarator = declarator.child_by_field_name("declarator")
    if declarator.type != "identifier":
        return ""
    name = source.text_of(declarator)
    if is_extern:
        element = base + extents[extents.index("]") + 1 :] if extents else base
        return f"simt::DynamicShared<{element}> {name};"
    return f"auto& {name} = simt::shared<{base}{extents}>([] {{}});"
