"""Operands of SASS as C: one function a kind reads an operand, one writes it.

A row of the tables names its operands with their kinds: ``=u32 d, =pred? p, u32 a, shared at``.
``=`` is a result, ``?`` may be absent. A kind that does not fit an operand's text refuses the row.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

ZERO = ("RZ", "URZ")
ALWAYS = ("PT", "UPT")
_REGISTER = re.compile(r"(?P<neg>[-~]?)(?P<bar>\|?)(?P<name>U?R(?:\d+|Z))(?P<rest>(?:\.\w+)?)\|?$")
_CONSTANT = re.compile(
    r"(?P<neg>[-~]?)(?P<bar>\|?)c\[(?P<bank>0x[0-9a-f]+)\]\[(?P<at>[^\]]+)\](?P<rest>(?:\.\w+)?)\|?$"
)
_PREDICATE = re.compile(r"(?P<neg>!?)(?P<name>U?P[0-9T])$")
_INTEGER = re.compile(r"-?0x[0-9a-f]+$")
_FLOAT = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|INF|QNAN|SNAN)$", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:desc\[UR\d+\])?\[(?P<sum>[^\]]*)\]$")
_TERM = re.compile(r"(?P<sign>[+-]*)(?P<term>[^+-]+)")
_SCALED = re.compile(r"(?P<name>U?R(?:\d+|Z))(?:\.X(?P<scale>\d+))?$")
_WIDE = re.compile(r"(?P<name>U?R(?:\d+|Z))(?P<width>(?:\.64|\.U32)?)$")
VECTORS = {"u32x2": 2, "u32x4": 4}


class Banks(Protocol):
    """The kernel's constant memory, in C."""

    def word(self, bank: int, offset: int) -> str | None:
        """Return 32 bits at a fixed offset; None if they are not known."""

    def address(self, bank: int, fixed: int, offset: str) -> str | None:
        """Return a pointer to the bytes at ``offset``, which is computed; ``fixed`` is its constant
        part, from which the variable is known."""


@dataclass(frozen=True)
class Slot:
    """One operand of a row: its kind, its name in the row's C, and its role."""

    kind: str
    name: str
    is_result: bool
    is_optional: bool


def slots_of(form: str) -> tuple[Slot, ...]:
    """Return the operands of a row's form."""
    found = []
    for part in filter(None, (piece.strip() for piece in form.split(","))):
        kind, _, name = part.partition(" ")
        plain = kind.lstrip("=").rstrip("?")
        found.append(Slot(plain, name.strip(), kind.startswith("="), kind.endswith("?")))
    return tuple(found)


def register(name: str, k: int = 0) -> str:
    """Return the register ``k`` places behind one, in C."""
    if name in ZERO:
        return "0u"
    letters = name.rstrip("0123456789")
    return f"{letters}{int(name[len(letters) :]) + k}"


def _bits(value: int, *, wide: bool = False) -> str:
    return f"{value & 0xFFFFFFFFFFFFFFFF:#x}ull" if wide else f"{value & 0xFFFFFFFF:#x}u"


def _plain(text: str, banks: Banks) -> tuple[str, re.Match[str] | None] | None:
    """Return the 32 bits of a register, constant or integer, and the match that has its signs."""
    if found := _REGISTER.match(text):
        return register(found["name"]), found
    if (found := _CONSTANT.match(text)) and (at := _offset(found["at"])) is not None:
        word = banks.word(int(found["bank"], 16), at)
        return None if word is None else (word, found)
    return (_bits(int(text, 16)), None) if _INTEGER.match(text) else None


def _offset(text: str) -> int | None:
    return 0 if text in ZERO else int(text, 16) if _INTEGER.match(text) else None


def _wide(text: str, banks: Banks) -> tuple[str, re.Match[str] | None] | None:
    """Return the 64 bits of a pair of registers or constants, or of an integer."""
    if found := _REGISTER.match(text):
        name = found["name"]
        return f"join({register(name)}, {register(name, 1)})", found
    if (found := _CONSTANT.match(text)) and (at := _offset(found["at"])) is not None:
        words = [banks.word(int(found["bank"], 16), at + more) for more in (0, 4)]
        return (f"join({words[0]}, {words[1]})", found) if all(words) else None
    return (_bits(int(text, 16), wide=True), None) if _INTEGER.match(text) else None


def _signed(value: str, found: re.Match[str] | None, *, kinds: tuple[str, str, str]) -> str | None:
    """Apply an operand's signs by the functions ``kinds``: absolute value, minus, complement."""
    if found is None:
        return value
    if found["rest"]:
        return None
    absolute, minus, complement = kinds
    if found["bar"]:
        if not absolute:
            return None
        value = f"{absolute}({value})"
    sign = {"": "", "-": minus, "~": complement}[found["neg"]]
    if found["neg"] and not sign:
        return None
    return f"{sign}({value})" if sign else value


def _u32(text: str, banks: Banks) -> str | None:
    found = _plain(text, banks)
    return None if found is None else _signed(*found, kinds=("iabs", "0u-", "~"))


def _i32(text: str, banks: Banks) -> str | None:
    value = _u32(text, banks)
    return None if value is None else f"(i32)({value})"


def _carried(text: str, banks: Banks) -> str | None:
    """33 bits of an addend: a minus is the complement plus one, whose carry counts."""
    found = _plain(text, banks)
    if found is None or (found[1] and (found[1]["bar"] or found[1]["rest"])):
        return None
    value, match = found
    sign = match["neg"] if match else ""
    return {
        "": f"(u64)({value})",
        "-": f"((u64)(u32)~({value}) + 1)",
        "~": f"(u64)(u32)~({value})",
    }[sign]


def _u64(text: str, banks: Banks) -> str | None:
    found = _wide(text, banks)
    return None if found is None else _signed(*found, kinds=("", "0ull-", "~"))


def _i64(text: str, banks: Banks) -> str | None:
    value = _u64(text, banks)
    return None if value is None else f"(i64)({value})"


def _number(text: str) -> float | None:
    """Return an immediate of floating point; a NaN keeps its sign."""
    if not _FLOAT.match(text):
        return None
    if "NAN" in text.upper():
        return math.copysign(math.nan, -1.0 if text.startswith("-") else 1.0)
    return float(text)


def _f32(text: str, banks: Banks) -> str | None:
    number = _number(text)
    if number is not None:
        return f"as_f32({_bits(_single(number))})"
    found = _plain(text, banks)
    if found is None:
        return None
    return _signed(f"as_f32({found[0]})", found[1], kinds=("fabs32", "fneg32", ""))


def _single(number: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", number))[0])
    except OverflowError:
        return 0x7F800000 if number > 0 else 0xFF800000


def _f64(text: str, banks: Banks) -> str | None:
    number = _number(text)
    if number is not None:
        bits = struct.unpack("<Q", struct.pack("<d", number))[0]
        return f"as_f64({_bits(bits, wide=True)})"
    if _INTEGER.match(text):  # the upper half of a number
        return f"as_f64({_bits(int(text, 16) << 32, wide=True)})"
    found = _wide(text, banks)
    if found is None:
        return None
    return _signed(f"as_f64({found[0]})", found[1], kinds=("fabs64", "fneg64", ""))


def _half(text: str, banks: Banks) -> str | None:
    """The 16 bits of an immediate."""
    del banks
    number = _number(text)
    if number is None:
        return None
    return f"{struct.unpack('<H', struct.pack('<e', number))[0]:#x}u"


def _brain(text: str, banks: Banks) -> str | None:
    """The 16 bits of an immediate of bfloat16."""
    del banks
    number = _number(text)
    return None if number is None else f"{_single(number) >> 16:#x}u"


_SWIZZLES = {"": "", ".H1_H0": "", ".H0_H0": "low_twice", ".H1_H1": "high_twice",
             ".H0_H1": "swapped"}  # fmt: skip


def _halves(text: str, banks: Banks) -> str | None:
    """Two halves in a register."""
    found = _plain(text, banks)
    if found is None:
        return None
    value, match = found
    if match is None:
        return f"as_h2({value})"
    if match["rest"] not in _SWIZZLES or match["neg"] == "~":
        return None
    value = f"as_h2({_SWIZZLES[match['rest']]}({value}))"
    value = f"habs2({value})" if match["bar"] else value
    return f"-({value})" if match["neg"] else value


def _part(bits: int) -> Callable[[str, Banks], str | None]:
    """Read a byte or a half of a register, the lowest one or the one that is named."""
    letter, width = ("B", 8) if bits == 8 else ("H", 16)

    def read(text: str, banks: Banks) -> str | None:
        found = _plain(text, banks)
        if found is None:
            return None
        value, match = found
        rest = match["rest"] if match else ""
        if match and (match["neg"] or match["bar"]):
            return None
        if rest and not re.fullmatch(rf"\.{letter}[0-3]", rest):
            return None
        at = int(rest[-1]) * width if rest else 0
        return f"(u{bits})(({value}) >> {at})"

    return read


def _predicate(text: str, banks: Banks) -> str | None:
    del banks
    found = _PREDICATE.match(text)
    if found is None:
        return None
    value = "true" if found["name"] in ALWAYS else found["name"]
    return f"!{value}" if found["neg"] else value


def _immediate(text: str, banks: Banks) -> str | None:
    del banks
    return _bits(int(text, 16)) if _INTEGER.match(text) else None


def _global(text: str, banks: Banks) -> str | None:
    """A 64-bit address: [R2.64+0x10], [R2.U32+UR4], desc[UR4][R2.64]."""
    del banks
    found = _ADDRESS.match(text)
    if found is None:
        return None
    total = []
    for sign, term in _TERM.findall(found["sum"]):
        if (named := _WIDE.match(term)) is not None:
            name = named["name"]
            pair = f"join({register(name)}, {register(name, 1)})"
            value = f"(u64){register(name)}" if named["width"] == ".U32" else pair
        elif _INTEGER.match(term):
            value = f"(u64)(i64){int(term, 16)}ll"
        else:
            return None
        total.append(f"- {value}" if sign.endswith("-") else f"+ {value}")
    return f"(0ull {' '.join(total)})"


def _near(text: str, banks: Banks) -> str | None:
    """A 32-bit offset into shared or local memory: [R2.X4+UR4+0x10]."""
    del banks
    found = _ADDRESS.match(text)
    return None if found is None else _near_sum(found["sum"])


def _near_sum(text: str) -> str | None:
    total = []
    for sign, term in _TERM.findall(text):
        if (named := _SCALED.match(term)) is not None:
            value = f"{register(named['name'])} * {named['scale'] or 1}u"
        elif _INTEGER.match(term):
            value = _bits(int(term, 16))
        else:
            return None
        total.append(f"- {value}" if sign.endswith("-") else f"+ {value}")
    return f"(0u {' '.join(total)})"


def _bank(text: str, banks: Banks) -> str | None:
    """A pointer into constant memory: c[0x3][R2+0x10]."""
    found = _CONSTANT.match(text)
    if found is None or found["rest"] or found["neg"] or found["bar"]:
        return None
    offset = _near_sum(found["at"])
    fixed = sum(
        int(term, 16) * (-1 if sign.endswith("-") else 1)
        for sign, term in _TERM.findall(found["at"])
        if _INTEGER.match(term)
    )
    return None if offset is None else banks.address(int(found["bank"], 16), fixed, offset)


def _vector(n: int) -> Callable[[str, Banks], str | None]:
    def read(text: str, banks: Banks) -> str | None:
        del banks
        found = _REGISTER.match(text)
        if found is None or found["neg"] or found["bar"] or found["rest"]:
            return None
        return "{" + ", ".join(register(found["name"], k) for k in range(n)) + "}"

    return read


def _ordered(n: int, order: str) -> Callable[[str, Banks], str | None]:
    """Read registers of a matrix whose text names the order of its elements: R8.ROW."""

    def read(text: str, banks: Banks) -> str | None:
        ends = text.endswith(order)
        return _vector(n)(text.removesuffix(order), banks) if ends else None

    return read


READERS: Mapping[str, Callable[[str, Banks], str | None]] = {
    "u32": _u32, "i32": _i32, "w32": _carried, "u64": _u64, "i64": _i64,
    "f32": _f32, "f64": _f64, "half": _half, "brain": _brain, "h2": _halves,
    "u8": _part(8), "u16": _part(16),
    "pred": _predicate, "imm": _immediate, "global": _global, "near": _near, "bank": _bank,
    **{kind: _vector(n) for kind, n in VECTORS.items()},
    "rows2": _ordered(2, ".ROW"), "columns1": _ordered(1, ".COL"),
}  # fmt: skip
C_TYPES = {
    "w32": "u64", "half": "u32", "brain": "u32", "pred": "bool", "imm": "u32", "global": "u64",
    "near": "u32", "bank": "BANK", "rows2": "u32x2", "columns1": "u32",
}  # fmt: skip
"""C types of kinds whose names differ from them."""


def read(slot: Slot, text: str, banks: Banks) -> str | None:
    """Return a C expression of an operand; None if it is not of the slot's kind."""
    if slot.kind not in READERS:  # a word that has to stand there as it is
        return "0" if text == slot.kind else None
    return READERS[slot.kind](text, banks)


def is_result_of(slot: Slot, text: str) -> bool:
    """Return whether an operand's text can hold a result of this kind."""
    if slot.kind == "pred":
        return _PREDICATE.match(text) is not None and not text.startswith("!")
    found = _REGISTER.match(text)
    return found is not None and not (found["neg"] or found["bar"] or found["rest"])


def written(slot: Slot, text: str) -> str:
    """Return C that stores the result ``slot.name`` in its registers."""
    if text in ZERO or text in ALWAYS:
        return ""
    name = slot.name
    if slot.kind == "pred":
        return f"{text} = {name};"
    if slot.kind in VECTORS:
        n = VECTORS[slot.kind]
        return " ".join(f"{register(text, k)} = {name}[{k}];" for k in range(n))
    if slot.kind in ("u64", "i64", "f64"):
        bits = f"bits64({name})" if slot.kind == "f64" else f"(u64){name}"
        return f"{text} = (u32)({bits}); {register(text, 1)} = (u32)({bits} >> 32);"
    converted = {"f32": f"bits32({name})", "h2": f"halves_bits({name})"}
    return f"{text} = {converted.get(slot.kind, f'(u32){name}')};"
