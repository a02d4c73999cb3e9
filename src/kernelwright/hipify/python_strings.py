"""String literals of Python: the text that they stand for, and where each character is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelwright.dialects.simt.source import Edit

_OPEN = re.compile(r"(?P<mark>[rRbBuUfF]*)(?P<quote>\'\'\'|\"\"\"|\'|\")")
_BETWEEN = re.compile(r"(?:[\s\\]|#[^\n]*)*")
_ESCAPE = re.compile(
    r"\\(?:\r?\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)",
    re.DOTALL,
)
_FIELD = re.compile(r"__field\d+__")


@dataclass(frozen=True)
class _Character:
    """One character of the text that a literal stands for, or one field of an f-string."""

    text: str
    start: int
    end: int
    """Where it is written, in characters of the source."""
    piece: int
    """The number of the literal, of several that stand beside each other."""


@dataclass(frozen=True)
class _Piece:
    quote: str
    is_raw: bool
    is_formatted: bool


class Literal:
    """A string of a Python file: one literal, or several that Python puts together.

    A field of an f-string stands in the text as a name of its own, so that it can be part of a name
    or an expression there.
    """

    def __init__(self, source: str, start: int, end: int) -> None:
        """Read the literals between two characters of ``source``.

        Raises:
            ValueError: there is something else.
        """
        self._source = source
        self._pieces: list[_Piece] = []
        self._fields: dict[str, str] = {}
        self._characters = list(self._read(start, end))
        self.text = "".join(c.text for c in self._characters)

    @property
    def is_formatted(self) -> bool:
        """Whether it has fields, and so no text before the program runs."""
        return bool(self._fields)

    def line(self, line: int) -> int:
        """Return the line of the source in which a line of the text begins, from 1."""
        at, seen = 0, 1
        for character in self._characters:
            if seen == line:
                at = character.start
                break
            seen += character.text.count("\n")
        else:
            at = self._characters[-1].start if self._characters else 0
        return self._source.count("\n", 0, at) + 1

    def edits(self, edits: Sequence[Edit]) -> Iterator[tuple[int, int, str]]:
        """Yield edits of the source, in characters, that make edits of the encoded text."""
        owners: list[int] = []
        for number, character in enumerate(self._characters):
            owners += [number] * len(character.text.encode())
        for edit in edits:
            covered = sorted(set(owners[edit.start : edit.end]))
            if not covered:
                yield self._insertion(owners, edit)
                continue
            text = edit.text
            for piece in dict.fromkeys(self._characters[i].piece for i in covered):
                inside = [c for i in covered if (c := self._characters[i]).piece == piece]
                yield inside[0].start, inside[-1].end, self._written(text, piece)
                text = ""

    def _insertion(self, owners: Sequence[int], edit: Edit) -> tuple[int, int, str]:
        if edit.start < len(owners):
            character = self._characters[owners[edit.start]]
            at = character.start
        else:
            character = self._characters[-1]
            at = character.end
        return at, at, self._written(edit.text, character.piece)

    def _written(self, text: str, number: int) -> str:
        """Return text as it is written in a literal."""
        piece = self._pieces[number]
        parts, at = [], 0
        for field in _FIELD.finditer(text):
            parts += [_escaped(text[at : field.start()], piece), self._fields[field[0]]]
            at = field.end()
        return "".join([*parts, _escaped(text[at:], piece)])

    def _read(self, start: int, end: int) -> Iterator[_Character]:
        at = start
        while at < end:
            between = _BETWEEN.match(self._source, at, end)
            at = between.end() if between else at
            if at >= end:
                return
            opened = _OPEN.match(self._source, at, end)
            if opened is None:
                raise ValueError("no string literal")
            mark = opened["mark"].lower()
            self._pieces.append(_Piece(opened["quote"], "r" in mark, "f" in mark))
            at = opened.end()
            for character in self._inside(at, end, len(self._pieces) - 1):
                yield character
                at = character.end
            at += len(opened["quote"])

    def _inside(self, at: int, end: int, number: int) -> Iterator[_Character]:
        """Yield the characters of one literal, up to its closing quote."""
        piece, source = self._pieces[number], self._source
        while not source.startswith(piece.quote, at):
            if at >= end:
                raise ValueError("a literal without end")
            found = _ESCAPE.match(source, at)
            if piece.is_formatted and source[at] in "{}":
                is_double = source[at : at + 2] in ("{{", "}}")
                stop = at + 2 if is_double else _end_of_field(source, at, end)
                text = source[at] if is_double else self._field(source[at:stop])
            elif found and piece.is_raw:
                text, stop = found[0][:2], at + 2
            elif found:
                text, stop = (
                    ast.literal_eval(f'"""{found[0]}"""') if found[0] != '\\"' else '"',
                    found.end(),
                )
            else:
                text, stop = source[at], at + 1
            yield _Character(text, at, stop, number)
            at = stop

    def _field(self, written: str) -> str:
        name = f"__field{len(self._fields)}__"
        self._fields[name] = written
        return name


def _end_of_field(source: str, at: int, end: int) -> int:
    """Return where the field of an f-string that begins at ``at`` ends."""
    depth = 0
    while at < end:
        opened = _OPEN.match(source, at) if depth else None
        if opened and opened["quote"]:
            at = source.find(opened["quote"], opened.end()) + len(opened["quote"])
            continue
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
        if not depth:
            return at
    raise ValueError("a field without end")


def _escaped(text: str, piece: _Piece) -> str:
    if piece.is_formatted:
        text = text.replace("{", "{{").replace("}", "}}")
    if piece.is_raw:
        return text
    text = text.replace("\\", "\\\\")
    if len(piece.quote) == 1:
        return text.replace(piece.quote, f"\\{piece.quote}").replace("\n", "\\n")
    return text.replace(piece.quote, f"\\{piece.quote}")
