"""Lowering of CUDA or HIP text to C++ for the emulation's headers; line numbers stay the same."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.dialects.simt.source import (
    Edit,
    Source,
    apply_edits,
    arguments,
    callee,
    enclosing,
    member_templates,
    with_launches,
)

NULLS = ("0", "NULL", "0L")
"""Arguments that may be null pointers: a copy of them would be an integer."""
BY_POINTERS = re.compile(r"(cuda|hip)(Launch|LaunchCooperative)Kernel")
_NOINLINE = re.compile(rb"(?<!\()\b__noinline__\b")
"""CUDA's word, which is no macro here: the standard library has it as the name of an attribute."""
_INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_LAUNCH = re.compile(
    rb"(?P<kernel>[A-Za-z_][\w:]*\s*(?:<[^<>;{}]*(?:<[^<>;{}]*>[^<>;{}]*)*>)?)\s*<<<(?P<config>)"
)
_OPENS = re.compile(rb"\s*\(")
_CAST = re.compile(
    r"^(?:\(\s*(?:const\s+)?void\s*\*\s*\)|reinterpret_cast<\s*(?:const\s+)?void\s*\*\s*>)\s*(.*)$",
    re.DOTALL,
)


def lower(text: str) -> str:
    """Return ``text`` with launches and shared memory written as calls of the emulation.

    Not covered: launches and shared memory that macros hide from the syntax tree; inline PTX and
    AMD assembly.
    """
    raw = _NOINLINE.sub(rb"__attribute__((noinline))", text.encode(errors="surrogateescape"))
    source = Source(with_launches(raw))
    keywords = [Edit(n.start_byte, n.start_byte, "template ") for n in member_templates(source)]
    edits = [*keywords, *_launches(source), *_launches_by_pointers(source), *_shared(source)]
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


@dataclass(frozen=True)
class _Launch:
    """Where a launch stands, in bytes: its kernel's name, configuration and arguments."""

    start: int
    kernel_end: int
    config: tuple[int, int]
    arguments: tuple[tuple[int, int], ...]
    opened: int
    """The first byte after the bracket that opens the arguments."""


def _launches(source: Source) -> Iterator[Edit]:
    found = [*_seen_launches(source)]
    found += _hidden_launches(source, {launch.config[0] for launch in found})
    for launch in found:
        yield from _launch_edits(source, launch)


def _seen_launches(source: Source) -> Iterator[_Launch]:
    for node in source.nodes("kernel_call_syntax"):
        call = node.parent
        kernel = call.child_by_field_name("function")
        listed = call.child_by_field_name("arguments")
        if kernel is None or listed is None:
            continue
        if source.text[kernel.end_byte : node.start_byte].strip():
            continue  # a macro before it was taken for the kernel
        given = tuple((a.start_byte, a.end_byte) for a in arguments(call))
        config = (node.start_byte + 3, node.end_byte - 3)
        yield _Launch(call.start_byte, kernel.end_byte, config, given, listed.start_byte + 1)


def _hidden_launches(source: Source, seen: set[int]) -> Iterator[_Launch]:
    """Yield launches that the syntax tree misses, because a macro stands before them."""
    text = source.living
    for match in _LAUNCH.finditer(text):
        inside = match.start("config")
        close = _closing(text, inside, b">>>")
        opened = _OPENS.match(text, close + 3) if close >= 0 else None
        if inside in seen or opened is None or _in_comment(source, match.start()):
            continue
        given, at = [], opened.end()
        while True:
            end = _closing(text, at, b",", b")")
            if end < 0:
                break
            if text[at:end].strip():
                given.append((at, end))
            at = end + 1
            if text[end : end + 1] == b")":
                yield _Launch(
                    match.start("kernel"),
                    match.end("kernel"),
                    (inside, close),
                    tuple(given),
                    opened.end(),
                )
                break


def _in_comment(source: Source, at: int) -> bool:
    return any(
        node.start_byte <= at < node.end_byte for node in source.nodes("comment", "string_literal")
    )


def _closing(text: bytes, at: int, *ends: bytes) -> int:
    """Return where one of ``ends`` stands outside brackets, from ``at`` on; -1 if nowhere."""
    depth = 0
    while at < len(text):
        if not depth and text.startswith(ends, at):
            return at
        depth += (text[at : at + 1] in b"([{") - (text[at : at + 1] in b")]}")
        if depth < 0:
            return -1
        at += 1
    return -1


def _launch_edits(source: Source, launch: _Launch) -> Iterator[Edit]:
    given = [source.exact(*place) for place in launch.arguments]
    nulls = [text.strip() in NULLS for text in given]
    words = [
        text if is_null else f"simt_{i}"
        for i, (text, is_null) in enumerate(zip(given, nulls, strict=True))
    ]
    kept = ", ".join(f"auto simt_{i}" for i, is_null in enumerate(nulls) if not is_null)
    parameters, passed = (kept, ", ".join(words)) if any(nulls) else ("auto... simt_a", "simt_a...")
    kernel = source.exact(launch.start, launch.kernel_end).strip()
    comma = ", " if kept else ""
    yield Edit(
        launch.start,
        launch.opened,
        f"simt::launch(simt::config({source.exact(*launch.config)}), [&]({parameters}) "
        f"{{ simt::simt_enter(); {kernel}({passed}); }}{comma}",
    )
    yield from _without_nulls(launch.arguments, nulls)


def _without_nulls(given: Sequence[tuple[int, int]], nulls: Sequence[bool]) -> Iterator[Edit]:
    """Yield edits that leave out arguments, each with the comma that separates it."""
    if not any(nulls):
        return
    kept = [place for place, is_null in zip(given, nulls, strict=True) if not is_null]
    at = given[0][0]
    for start, end in kept:
        if at < start:
            yield Edit(at, start, "" if at == given[0][0] else ", ")
        at = end
    if at < given[-1][1]:
        yield Edit(at, given[-1][1], "")


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
        if enclosing(declarator, "function_definition") is None:
            return f"simt::DynamicShared<{element}> {name};"
        return f"auto& {name} = simt::dynamic_shared<{element}>();"
    if enclosing(declarator, "function_definition", "lambda_expression") is None:
        return f"static simt::StaticShared<{base}{extents}> {name};"
    return f"auto& {name} = simt::shared<{base}{extents}>([] {{}});"
