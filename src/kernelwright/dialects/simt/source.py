"""CUDA and HIP text as a syntax tree, and edits of it that keep all other bytes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from kernelwright.core.errors import DialectError

MACRO_BODY = "preproc_arg"
SPACED_LAUNCH = re.compile(rb"<<[ \t]*<([^;{}<>]*(?:<[^;{}<>]*>[^;{}<>]*)*)>>[ \t]*>(?=[ \t]*\()")
"""A launch whose brackets may be separated by blanks, which nvcc accepts and clang does not."""
_ALIGNMENT = re.compile(rb"\b__align__[ \t]*\([^()\r\n]*(?:\([^()\r\n]*\)[^()\r\n]*)*\)")
_NOT_BREAKS = re.compile(rb"[^\r\n]")
_CONDITIONAL = re.compile(
    rb"^[ \t]*#[ \t]*(?P<word>ifdef|ifndef|if|elif|else|endif)\b(?P<condition>[^\r\n/]*)",
    re.MULTILINE,
)


@dataclass(frozen=True, order=True)
class Edit:
    """Bytes ``start`` to ``end`` become ``text``; if the two are equal, it is an insertion."""

    start: int
    end: int
    text: str


def apply_edits(text: bytes, edits: Iterable[Edit]) -> bytes:
    """Return ``text`` with the edits made.

    An edit inside a range that another edit replaces is dropped with that range. Two insertions at
    one place are both made, in the order given.
    """
    out, at = [], 0
    for edit in sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.start != e.end, -e.end)):
        if edit.start < at:
            continue
        out += [text[at : edit.start], edit.text.encode(errors="surrogateescape")]
        at = edit.end
    return b"".join([*out, text[at:]])


@cache
def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_cuda
    except ImportError as error:
        raise DialectError(
            "reading CUDA or HIP sources needs tree-sitter",
            seen=str(error),
            do='run: pip install "kernelwright[port]"',
        ) from error
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def with_launches(text: bytes) -> bytes:
    """Return text in which the brackets of launches stand together."""
    return SPACED_LAUNCH.sub(rb"<<<\1>>>", text)


class Source:
    """A parsed file. Bodies of macros are parsed as well, at their own positions in the text.

    Not covered: expansions of macros. Nodes inside a syntax error are found like any other.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text

    @cached_property
    def living(self) -> bytes:
        """The text, with blanks where no compiler looks, between ``#if 0`` and its end, and for
        alignments, which the grammar does not know before a declared name."""
        text = _ALIGNMENT.sub(lambda match: b" " * len(match[0]), self.text)
        for start, end in dead_ranges(text):
            text = text[:start] + _NOT_BREAKS.sub(b" ", text[start:end]) + text[end:]
        return text

    @cached_property
    def _by_kind(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = defaultdict(list)
        for node in _walk(self.root):
            found[node.type].append(node)
        for body in found.get(MACRO_BODY, ())[:]:
            for node in _walk(_parse_range(self.living, body)):
                found[node.type].append(node)
        return found

    @cached_property
    def root(self) -> Any:
        parser = _parser()
        parser.included_ranges = []
        return parser.parse(self.living).root_node

    def is_in_macro(self, node: Any) -> bool:
        """Return whether a node is part of a macro's body."""
        at = bisect_right(self._bodies, (node.start_byte, len(self.text))) - 1
        return at >= 0 and node.end_byte <= self._bodies[at][1]

    @cached_property
    def _bodies(self) -> list[tuple[int, int]]:
        """Where bodies of macros begin and end, in order."""
        return sorted((node.start_byte, node.end_byte) for node in self.nodes(MACRO_BODY))

    def nodes(self, *kinds: str) -> list[Any]:
        """Return all nodes of these kinds, in the order of the text within each kind."""
        return [node for kind in kinds for node in self._by_kind.get(kind, ())]

    def text_of(self, node: Any) -> str:
        return self.text[node.start_byte : node.end_byte].decode(errors="replace")

    def exact(self, start: int, end: int) -> str:
        """Return the text of these bytes, from which an edit reproduces the same bytes."""
        return self.text[start:end].decode(errors="surrogateescape")

    def line(self, node: Any) -> int:
        return node.start_point[0] + 1


def dead_ranges(text: bytes) -> list[tuple[int, int]]:
    """Return where text begins and ends that ``#if 0`` leaves out."""
    found: list[tuple[int, int]] = []
    depth, start, dead_depth = 0, 0, 0
    for match in _CONDITIONAL.finditer(text):
        word = match["word"]
        if word.startswith(b"if"):
            depth += 1
            if not dead_depth and word == b"if" and match["condition"].strip() == b"0":
                dead_depth, start = depth, match.end()
            continue
        if depth == dead_depth:  # its #else, #elif or #endif
            found += [(start, match.start())] if dead_depth else []
            dead_depth = 0
        depth -= word == b"endif"
    return found


def _parse_range(text: bytes, node: Any) -> Any:
    import tree_sitter

    parser = _parser()
    parser.included_ranges = [
        tree_sitter.Range(node.start_point, node.end_point, node.start_byte, node.end_byte)
    ]
    try:
        return parser.parse(text).root_node
    finally:
        parser.included_ranges = []


def _walk(root: Any) -> Iterator[Any]:
    cursor = root.walk()
    while True:
        yield cursor.node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def member_templates(source: Source) -> Iterator[Any]:
    """Yield names of member templates in templates that want the keyword ``template`` before them:
    nvcc does without it, clang does not."""
    for node in source.nodes("template_method"):
        if node.parent.type == "field_expression" and enclosing(node, "template_declaration"):
            yield node


def arguments(call: Any) -> list[Any]:
    """Return the argument nodes of a call expression (empty if it has none)."""
    listed = call.child_by_field_name("arguments")
    if listed is None:
        return []
    return [child for child in listed.named_children if child.type != "comment"]


def callee(source: Source, call: Any) -> str:
    """Return the name of the called function, without namespace, template arguments and object."""
    node = call.child_by_field_name("function")
    while node is not None and node.type in ("qualified_identifier", "template_function"):
        node = node.child_by_field_name("name")
    return "" if node is None or node.type != "identifier" else source.text_of(node)


def callee_node(call: Any) -> Any:
    """Return the identifier of :func:`callee`."""
    node = call.child_by_field_name("function")
    while node is not None and node.type in ("qualified_identifier", "template_function"):
        node = node.child_by_field_name("name")
    return node


def enclosing(node: Any, *kinds: str) -> Any:
    """Return the nearest ancestor of one of these kinds, or None."""
    node = node.parent
    while node is not None and node.type not in kinds:
        node = node.parent
    return node
