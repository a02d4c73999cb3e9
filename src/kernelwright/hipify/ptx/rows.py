"""The rows of PTX: one instruction with all its modifiers and one form of operands, as C++.

A row's ``ptx`` is an instruction. ``<set>`` stands for each key of a set, whose value replaces
``<set>`` in the form and the C++; ``{set}`` in a form is the key itself. ``[.X]`` may be absent and
changes nothing. A modifier that no row names is unknown: it is never passed over.

A form lists operands as ``name:kind``. A first operand ``d`` is the result, and ``d:K|p:K`` are
two. Kinds are PTX's types; ``m32`` and ``m64`` are bits that are only moved, ``v2.K`` is a vector,
``a4.K`` an array of registers, ``f32.f16`` reads a half as a float, ``imm:N`` is a literal of at
most N, and ``generic`` and ``shared`` are addresses. In the C++ ``$a`` is an operand, ``$a0`` an
element of a vector, ``$D`` and ``$A`` the types of d and a.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache

from kernelwright.hipify.table import TABLES

_HOLE = re.compile(r"<([\w-]+)>")
_PIECE = re.compile(r"(\[)|(\])|<([\w-]+)>|([^\[\]<>]+)")
ADDRESSES = ("generic", "shared")


@dataclass(frozen=True)
class Slot:
    """One operand of a form."""

    name: str
    kind: str
    is_result: bool = False


@dataclass(frozen=True)
class Row:
    """One entry of a table with its holes filled for an instruction."""

    ptx: str
    """The instruction as the table has it: the entry's name."""
    slots: tuple[Slot, ...]
    second: Slot | None
    """The result that follows the first after a bar."""
    c: str
    needs: str
    is_pure: bool
    """Whether it only computes its result from its operands."""

    @property
    def result(self) -> Slot | None:
        return self.slots[0] if self.slots and self.slots[0].is_result else None

    @property
    def inputs(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if not slot.is_result)


@dataclass(frozen=True)
class Entry:
    """One row of a file, with its holes."""

    ptx: str
    form: str
    c: str
    needs: str
    is_pure: bool
    sets: dict[str, dict[str, str]]
    pattern: re.Pattern[str]

    def row(self, keys: dict[str, str | None]) -> Row:
        """Return the row for keys of its sets."""
        chosen = {name: key for name, key in keys.items() if key is not None}
        values = {f"<{name}>": self.sets[name][key] for name, key in chosen.items()}
        form = _replaced(self.form, {f"{{{name}}}": key for name, key in chosen.items()} | values)
        slots, second = _slots(form)
        c = _replaced(self.c, values)
        is_pure = self.is_pure and second is None and "carry" not in c
        return Row(self.ptx, slots, second, c, self.needs, is_pure)


@cache
def entries() -> dict[str, tuple[Entry, ...]]:
    """Return the tables' rows by the first words of their instructions."""
    found: dict[str, list[Entry]] = {}
    for path in sorted((TABLES / "ptx").glob("*.toml")):
        table = tomllib.loads(path.read_text())
        sets = {
            name: keys if isinstance(keys, dict) else {key: key for key in keys}
            for name, keys in table.get("sets", {}).items()
        }
        for row in table["row"]:
            entry = Entry(
                row["ptx"],
                row["form"],
                row["c"],
                row.get("needs", ""),
                table.get("is_pure", False),
                sets,
                _pattern(row["ptx"], row["form"] + row["c"], sets),
            )
            for word in _first_words(entry):
                found.setdefault(word, []).append(entry)
    return {word: tuple(listed) for word, listed in found.items()}


@cache
def rows_of(opcode: str) -> tuple[Row, ...]:
    """Return the rows of an instruction with all its modifiers, one a form of operands."""
    return tuple(
        entry.row(found.groupdict())
        for entry in entries().get(opcode.partition(".")[0], ())
        if (found := entry.pattern.fullmatch(opcode))
    )


def _first_words(entry: Entry) -> list[str]:
    first = entry.ptx.partition(".")[0].partition("[")[0]
    hole = _HOLE.fullmatch(first)
    return list(entry.sets[hole[1]]) if hole else [first]


def _pattern(ptx: str, used: str, sets: dict[str, dict[str, str]]) -> re.Pattern[str]:
    """Return the expression of all instructions of a row; sets that it uses are its groups."""
    parts, named = [], set()
    for found in _PIECE.finditer(ptx):
        opened, closed, name, plain = found.groups()
        if opened or closed:
            parts.append("(?:" if opened else ")?")
        elif plain:
            parts.append(re.escape(plain))
        elif name in named:
            parts.append(f"(?P={name})")
        else:
            keys = "|".join(re.escape(key) for key in sorted(sets[name], key=len, reverse=True))
            is_used = f"<{name}>" in used or f"{{{name}}}" in used
            named |= {name} if is_used else set()
            parts.append(f"(?P<{name}>{keys})" if is_used else f"(?:{keys})")
    return re.compile("".join(parts))


def _slots(form: str) -> tuple[tuple[Slot, ...], Slot | None]:
    slots, second = [], None
    for number, word in enumerate(form.split()):
        first, _, other = word.partition("|")
        name, _, kind = first.partition(":")
        slots.append(Slot(name, kind, is_result=number == 0 and name == "d"))
        if other:
            name, _, kind = other.partition(":")
            second = Slot(name, kind, is_result=True)
    return tuple(slots), second


def _replaced(text: str, by: dict[str, str]) -> str:
    for old, new in by.items():
        text = text.replace(old, new)
    return text
