"""Instructions with the rows that they fit, what they write, and where they lead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kernelwright.hipify.ptx.reading import Instruction, Label, integer_of
from kernelwright.hipify.ptx.rows import Row, Slot, entries, rows_of

JUMPS = ("bra", "bra.uni")
LEAVING = ("ret", "ret.uni", "exit")
CALLS = ("call", "call.uni")
REGISTER = re.compile(r"%?[A-Za-z_$][\w$]*|%[\w$]+")
VECTOR = re.compile(r"[va](\d)\.(\w+)")
_HINT = ".L2::cache_hint"
_ADVICE = {
    ("tex", "tld4", "txq", "suld", "sust", "sured", "suq"): "read textures and surfaces from plain "
    "memory, or port the program's CUDA source, which has them in software",
    ("mma", "wmma", "wgmma", "ldmatrix", "stmatrix", "tcgen05"): "write this product of matrices "
    "with rocWMMA",
    ("cp", "mbarrier", "multimem"): "copy by loads and stores of the threads",
    ("bar", "barrier"): "use one barrier of the whole block",
    ("call",): "link the functions into this file before it is translated",
}


@dataclass(frozen=True)
class Untranslated:
    """An instruction or declaration that was not translated."""

    line: int
    text: str
    reason: str
    advice: str


@dataclass(frozen=True)
class Bound:
    """An instruction with its row, and the operands of each slot."""

    instruction: Instruction
    row: Row
    given: tuple[tuple[Slot, str], ...]
    second: str = ""

    @property
    def result(self) -> str:
        """The operand that is written; empty if there is none."""
        return self.given[0][1] if self.row.result is not None else ""


def is_jump(now: Instruction) -> bool:
    return now.opcode in JUMPS or now.opcode.startswith("brx.idx")


def is_control(now: Instruction) -> bool:
    return is_jump(now) or now.opcode in (*LEAVING, *CALLS)


def bind_row(now: Instruction, row: Row) -> Bound | None:
    """Return an instruction with a row's slots; None if the operands are of another form."""
    if len(now.operands) != len(row.slots):
        return None
    given, second = [], ""
    for slot, text in zip(row.slots, now.operands, strict=True):
        if slot.is_result and "|" in text:
            if row.second is None:
                return None
            text, second = (word.strip() for word in text.split("|"))
        elif slot.is_result and row.second is not None:
            return None
        vector = VECTOR.fullmatch(slot.kind)
        if vector is not None and (
            not text.startswith("{") or len(elements(text)) != int(vector[1])
        ):
            return None
        if vector is None and text.startswith("{"):
            if len(elements(text)) > 1:
                return None
            text = elements(text)[0]
        if (slot.kind in ("generic", "shared")) != text.startswith("["):
            return None
        if slot.kind.startswith("imm:") and not _is_limited(text, int(slot.kind[4:])):
            return None
        given.append((slot, text))
    return Bound(now, row, tuple(given), second)


def without_hint(now: Instruction) -> Instruction:
    """Return an instruction without its hint to a cache, whose operand is the last."""
    if _HINT not in now.opcode:
        return now
    return replace(now, opcode=now.opcode.replace(_HINT, ""), operands=now.operands[:-1])


def _is_limited(text: str, most: int) -> bool:
    value = integer_of(text)
    return value is not None and 0 <= value <= most


def elements(text: str) -> list[str]:
    return [word.strip() for word in text.strip("{} ").split(",")]


def results_of(now: Instruction, bound: Bound | None) -> list[str]:
    """Return the registers that an instruction writes."""
    if bound is not None:
        text = bound.result
        return [*REGISTER.findall(text), *([bound.second] if bound.second else [])]
    if now.opcode in CALLS:
        return []
    if now.opcode.startswith(("st", "bra", "brx", "ret", "exit", "red", "bar")) or not now.operands:
        return []
    return REGISTER.findall(now.operands[0])


def call_parts(now: Instruction) -> tuple[list[str], str, list[str], str]:
    """Return the results of a call, its function, its arguments and its prototype."""
    given = list(now.operands)
    returned = _listed(given.pop(0)) if given and given[0].startswith("(") else []
    name = given.pop(0) if given else ""
    arguments = _listed(given.pop(0)) if given and given[0].startswith("(") else []
    return returned, name, arguments, given[0] if given else ""


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.strip("() ").split(",") if word.strip()]


def starts_of(body: Sequence[Instruction | Label]) -> list[tuple[int, int, int, list[str]]]:
    """Return blocks: their numbers, where they begin and end in the body, and their labels."""
    bounds = {0, len(body)}
    for at, item in enumerate(body):
        if isinstance(item, Label):
            if at and not isinstance(body[at - 1], Label):
                bounds.add(at)
        elif (
            item.opcode in JUMPS
            or item.opcode.startswith("brx.idx")
            or (item.opcode in (*LEAVING, "trap") and not item.guard)
        ):
            bounds.add(at + 1)
    places = sorted(bounds)
    return [
        (block, start, end, [i.name for i in body[start:end] if isinstance(i, Label)])
        for block, (start, end) in enumerate(pairwise(places))
    ] or [(0, 0, 0, [])]


def last_of(items: Sequence[Instruction | Label]) -> Instruction | None:
    last = items[-1] if items else None
    return last if isinstance(last, Instruction) else None


def reason_of(now: Instruction) -> str:
    if rows_of(now.opcode):
        return "no row takes these operands"
    if now.opcode.partition(".")[0] in entries():
        return "no row has all of these modifiers"
    return f"no row for {now.opcode.partition('.')[0]}"


def advice_of(opcode: str) -> str:
    """Return what to do about an instruction that has no row."""
    base = opcode.partition(".")[0]
    found = next((advice for names, advice in _ADVICE.items() if base in names), "")
    return found or "write the C++ of it in this place, or add a row with its test"
