"""The tables: one row for a mnemonic with all its modifiers and one form of operands.

A row's ``sass`` is a mnemonic. ``[.X]`` may be absent and changes nothing. ``<set>`` stands for
each key of a set, whose value replaces ``<set>`` in the row's form and C; ``{set}`` in a form is
the key itself. So one entry of a file can be many rows. A modifier that no row names is unknown: it
is never passed over.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from kernelwright.lift.operands import Banks, Slot, is_result_of, read, slots_of

TABLES = Path(__file__).parent / "tables"
_SET, _KEY = re.compile(r"<(\w+)>"), re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[(\.[\w.]+)\]")


@dataclass(frozen=True)
class Row:
    """One mnemonic with one form of operands, and what it does in C."""

    sass: str
    form: str
    c: str
    entry: str
    """The mnemonic as the file has it, with its holes."""

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        return slots_of(self.form)


@dataclass(frozen=True)
class Bound:
    """A row with the operands of one instruction."""

    row: Row
    inputs: tuple[tuple[Slot, str], ...]
    """Operands that are read, as C."""
    results: tuple[tuple[Slot, str], ...]
    """Operands that are written: their text; empty if an optional one is absent."""


@cache
def rows() -> dict[str, tuple[Row, ...]]:
    """Return all rows by their full mnemonics."""
    found: dict[str, list[Row]] = {}
    for path in sorted(TABLES.glob("*.toml")):
        table = tomllib.loads(path.read_text())
        sets = table.get("sets", {})
        for entry in table.get("row", []):
            for row in _expanded(entry, sets):
                found.setdefault(row.sass, []).append(row)
    return {mnemonic: tuple(forms) for mnemonic, forms in found.items()}


def _expanded(entry: dict[str, str], sets: dict[str, dict[str, str]]) -> Iterator[Row]:
    sass, form = entry["sass"], entry["form"]
    names = dict.fromkeys((*_SET.findall(sass), *_KEY.findall(form)))
    n_optional = len(_OPTIONAL.findall(sass))
    keys = [[(name, key) for key in sets[name]] for name in names]
    for chosen in itertools.product(*keys):
        values = {f"<{name}>": sets[name][key] for name, key in chosen}
        mnemonic = _replaced(sass, {f"<{name}>": key for name, key in chosen})
        operands = _replaced(form, {f"{{{name}}}": key for name, key in chosen} | values)
        for present in itertools.product((False, True), repeat=n_optional):
            kept = iter(present)
            full = _OPTIONAL.sub(lambda hole: hole[1] if next(kept) else "", mnemonic)  # noqa: B023
            yield Row(
                re.sub(r"\.{2,}", ".", full).rstrip("."),
                operands,
                _replaced(entry["c"], values).strip(),
                sass,
            )


def _replaced(text: str, by: dict[str, str]) -> str:
    for old, new in by.items():
        text = text.replace(old, new)
    return text


def bind(mnemonic: str, operands: Sequence[str], banks: Banks) -> Bound | None:
    """Return the row of an instruction with its operands; None if there is none."""
    for row in rows().get(mnemonic, ()):
        bound = _bound(row, operands, banks)
        if bound is not None:
            return bound
    return None


def _bound(row: Row, operands: Sequence[str], banks: Banks) -> Bound | None:
    left = list(operands)
    inputs: list[tuple[Slot, str]] = []
    results: list[tuple[Slot, str]] = []
    slots = row.slots
    for k, slot in enumerate(slots):
        needed = sum(not other.is_optional for other in slots[k + 1 :])
        may_take = len(left) > (needed if slot.is_optional else 0)
        if slot.is_result:
            if may_take and is_result_of(slot, left[0]):
                results.append((slot, left.pop(0)))
            elif slot.is_optional:
                results.append((slot, ""))
            else:
                return None
            continue
        value = read(slot, left[0], banks) if may_take else None
        if value is not None:
            left.pop(0)
        elif slot.is_optional:
            value = "0"
        else:
            return None
        inputs.append((slot, value))
    return None if left else Bound(row, tuple(inputs), tuple(results))
