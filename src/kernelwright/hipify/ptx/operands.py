"""Operands of PTX in C++: registers, special registers, literals, addresses and symbols."""

from __future__ import annotations

import re
import struct
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from kernelwright.hipify.ptx.reading import BYTES, Variable, integer_of
from kernelwright.hipify.table import TABLES

STORED = {"pred": "bool", "f32": "f32", "f64": "f64"}
"""The C++ types of registers that do not hold bits."""
_BITS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
_SIGNED = {"s8": 1, "s16": 2, "s32": 4, "s64": 8}
_UNSIGNED = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
INTEGERS = _SIGNED | _UNSIGNED
_PARTS = {"f16": "u16", "bf16": "u16", "f16x2": "u32", "bf16x2": "u32"}
"""Kinds that registers hold as bits."""
_PLAIN = {"b8": "u8", "b16": "u16", "b32": "u32", "b64": "u64"}
_MOVED = {"m32": ("f32", "u32"), "m64": ("f64", "u64")}
_REAL = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_SUM = re.compile(r"([%\w$.]+?)\s*([+-])\s*(-?(?:0[xX][0-9a-fA-F]+|\d+))")
_ADDRESS = re.compile(r"\[\s*(.+?)\s*\]")


class UnreadableError(Exception):
    """An operand that no C++ is known for."""


@dataclass(frozen=True)
class Value:
    """An expression whose C++ type is ``type``: a register, or what a register stands for."""

    text: str
    type: str
    is_atom: bool = True
    opposite: str = ""
    """The opposite of a condition, if it is not ``!`` before it."""

    @property
    def atom(self) -> str:
        return self.text if self.is_atom else f"({self.text})"

    @property
    def negated(self) -> str:
        return self.opposite or f"!{self.atom}"


@cache
def special_registers() -> dict[str, tuple[str, str, str]]:
    """Return special registers: (C++, type, the helper function that it needs)."""
    table = tomllib.loads((TABLES / "ptx_registers.toml").read_text())["register"]
    return {
        name: (row["text"], row.get("type", "u32"), row.get("needs", ""))
        for name, row in table.items()
    }


CHANGING = ("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo")
"""Special registers that are another number each time they are read."""


@dataclass
class Operands:
    """The operands of one function: what its names stand for."""

    value_of: Callable[[str], Value | None]
    """Registers."""
    variable_of: Callable[[str], Variable | None]
    address_of: Callable[[Variable], str]
    """The C++ of a variable's address, a pointer."""
    function_of: Callable[[str], str | None]
    needs: list[str]

    def read(self, text: str, kind: str) -> str:
        """Return an operand as an atom of the C++ type ``kind``.

        Raises:
            UnreadableError: the operand is not of this kind.
        """
        kind = _PLAIN.get(kind, kind)
        if kind == "pred":
            return self._predicate(text)
        if kind.startswith("imm:"):
            return _limited(text, int(kind.removeprefix("imm:")))
        if kind in ("generic", "shared"):
            return self._address(text, kind)
        if kind == "f32.f16" or kind == "f32.bf16":
            return f"(f32){self.read(text, kind.removeprefix('f32.'))}"
        if (whole := integer_of(text)) is not None:
            return _literal(whole, kind)
        if found := _REAL.fullmatch(text):
            return _real(found, kind)
        if re.fullmatch(r"-?\d+\.\d+", text) and kind in ("f32", "f64"):
            return _signed(text, "f" if kind == "f32" else "")
        if (value := self.value_of(text)) is not None:
            return self.converted(value, kind)
        if (special := special_registers().get(text)) is not None:
            self.needs += [special[2]] if special[2] else []
            return self.converted(Value(special[0], special[1]), kind)
        return self._symbol(text, kind)

    def converted(self, value: Value, kind: str) -> str:
        """Return a register's value as an atom of another type of at most its size."""
        kind = resolved(kind, value.type)
        have = value.type
        if have == kind:
            return value.atom
        if kind in INTEGERS and have in _UNSIGNED:
            if INTEGERS[kind] > _UNSIGNED[have]:
                raise UnreadableError(f"{value.text} is too narrow")
            return f"({kind}){value.atom}"
        if (text := _of_bits(value, kind)) is not None:
            self.needs += ["ptx_types"] if "ptx_as" in text else []
            return text
        raise UnreadableError(f"{value.text} is no {kind}")

    def _predicate(self, text: str) -> str:
        name, is_negated = text.removeprefix("!").strip(), text.startswith("!")
        if (whole := integer_of(name)) is not None:
            return "true" if (whole != 0) != is_negated else "false"
        value = self.value_of(name)
        if value is None or value.type != "bool":
            raise UnreadableError(f"{text} is no predicate")
        if not is_negated:
            return value.atom
        return f"({value.opposite})" if value.opposite else f"!{value.atom}"

    def _address(self, text: str, kind: str) -> str:
        """Return an address operand as a generic address: a pointer or a number."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise UnreadableError(f"{text} is no address")
        name, offset = _apart(found[1])
        if (variable := self.variable_of(name)) is not None:
            if (variable.space == "shared") != (kind == "shared"):
                raise UnreadableError(f"{name} is in another memory")
            at = self.address_of(variable)
            return f"({at} + {offset})" if offset else at
        value = self.value_of(name)
        if value is None or value.type not in ("u32", "u64"):
            raise UnreadableError(f"{name} is no address")
        number = _offset(value, offset)
        if kind == "generic":
            if value.type != "u64":
                raise UnreadableError(f"{name} is an address of 32 bits")
            return number if number.isidentifier() else f"({number})"
        self.needs.append("ptx_shared")
        return f"ptx_shared({number if value.type == 'u32' else f'(u32)({number})'})"

    def _symbol(self, text: str, kind: str) -> str:
        name, offset = _apart(text)
        after = f" + {offset}" if offset else ""
        if (variable := self.variable_of(name)) is not None:
            at = self.address_of(variable)
            if variable.space == "shared":
                self.needs.append("ptx_shared")
                number = f"ptx_shared_address({at})"
            else:
                number = f"(u64){at}"
            # an address of shared memory has 32 bits, in registers of either size
            if kind in ("u64", "m64", "s64"):
                return (
                    f"((u64){number}{after})"
                    if variable.space == "shared"
                    else f"({number}{after})"
                )
            if kind in ("u32", "m32", "s32") and variable.space == "shared":
                return f"({number}{after})" if after else number
        function = self.function_of(name)
        if function is not None and kind in ("u64", "m64"):
            return f"(u64)&{function}"
        raise UnreadableError(f"{text} is not known")


def _apart(text: str) -> tuple[str, int]:
    """Return a name and the number that is added to it."""
    found = _SUM.fullmatch(text)
    if found is None:
        return text.strip(), 0
    amount = int(found[3], 0)
    return found[1], amount if found[2] == "+" else -amount


def _offset(value: Value, offset: int) -> str:
    if not offset:
        return value.text
    mark = "+" if offset > 0 else "-"
    return f"{value.atom if not _is_sum(value.text) else value.text} {mark} {abs(offset)}"


def _is_sum(text: str) -> bool:
    return re.fullmatch(r"[\w ()*+.]+", text) is not None and "?" not in text


def resolved(kind: str, stored: str) -> str:
    """Return the type of bits that are only moved: a float's if the register holds one."""
    if kind in _MOVED:
        real, bits = _MOVED[kind]
        return real if stored == real else bits
    return kind


def stored_type(kind: str) -> str:
    """Return the C++ type of a register of a PTX type, before its uses say more."""
    if kind in STORED:
        return STORED[kind]
    return _BITS[max(BYTES[kind], 2)]


def _of_bits(value: Value, kind: str) -> str | None:
    """Return a value's bits as another type of the same size."""
    have = value.type
    if have == "f32" and kind in ("u32", "s32"):
        return f"__float_as_{'u' if kind == 'u32' else ''}int({value.text})"
    if have == "u32" and kind == "f32":
        return f"__uint_as_float({value.text})"
    if {have, kind} <= {"u64", "s64", "f64"}:
        return f"ptx_as<{kind}>({value.text})"
    bits = _PARTS.get(kind)
    if bits is not None and (have == bits or (bits == "u32" and have == "f32")):
        return f"ptx_as<{kind}>({value.text})"
    return None


def assigned(text: str, kind: str, stored: str) -> str:
    """Return an expression of a kind as the value of a register.

    Raises:
        UnreadableError: the register cannot hold it.
    """
    kind = resolved(kind, stored)
    if kind == "pred":
        kind = "bool"
    if kind == stored or (kind in INTEGERS and stored in INTEGERS):
        return text
    converted = _of_bits(Value(text, kind), stored)
    if converted is None and kind in _PARTS and _PARTS[kind] == stored:
        converted = f"ptx_as<{stored}>({text})"
    if converted is None and kind in _PARTS and stored == "f32" and _PARTS[kind] == "u32":
        converted = f"ptx_as<f32>({text})"
    if converted is None:
        raise UnreadableError(f"a {stored} cannot hold a {kind}")
    return converted


def _limited(text: str, most: int) -> str:
    value = integer_of(text)
    if value is None or value < 0:
        raise UnreadableError(f"{text} is no literal")
    if value > most:
        raise UnreadableError(f"{text} is more than {most}")
    return str(value)


def _literal(value: int, kind: str) -> str:
    if kind in ("m32", "m64"):
        kind = "u32" if kind == "m32" else "u64"
    if kind in ("f32", "f64"):
        n_digits = 8 if kind == "f32" else 16
        bits = f"{value & ((1 << 4 * n_digits) - 1):0{n_digits}x}"
        return _real_of(bits, kind)
    size = INTEGERS.get(kind)
    if size is None:
        raise UnreadableError(f"{value} is no {kind}")
    value &= (1 << 8 * size) - 1
    if kind in _SIGNED:
        if value >> (8 * size - 1):
            value -= 1 << 8 * size
        if value in (-(1 << 31), -(1 << 63)):
            return f"(-{-value - 1}{'ll' if size == 8 else ''} - 1)"
        text = f"{value}{'ll' if size == 8 else ''}"
        return f"({text})" if value < 0 else text
    end = {4: "u", 8: "ull"}.get(size, "")
    return f"{value:#x}{end}" if value >= 1 << 16 else f"{value}{end}"


def _real(found: re.Match[str], kind: str) -> str:
    bits = found[1] or found[2]
    own = "f32" if found[1] else "f64"
    kind = resolved(kind, own)
    if kind == "f32" and own == "f64":  # PTX takes doubles where floats are meant
        (wide,) = struct.unpack(">d", bytes.fromhex(bits))
        bits = struct.pack(">f", wide).hex()
    elif kind in ("u32", "u64") and BYTES[kind] == BYTES[own]:
        return f"0x{bits.lower()}{'u' if own == 'f32' else 'ull'}"
    elif kind != own:
        raise UnreadableError(f"{found[0]} is no {kind}")
    return _real_of(bits, kind)


def _real_of(bits: str, kind: str) -> str:
    """Return a literal of the number that has these bits, or the bits if none is the same."""
    if kind == "f32":
        (value,) = struct.unpack(">f", bytes.fromhex(bits))
        text = next((t for n in range(6, 10) if _same(t := f"{value:.{n}g}", value, bits)), None)
        return f"__uint_as_float(0x{bits.lower()}u)" if text is None else _signed(text, "f")
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    if value != value or value in (float("inf"), float("-inf")):
        return f"ptx_as<f64>(0x{bits.lower()}ull)"
    return _signed(repr(value), "")


def _same(text: str, value: float, bits: str) -> bool:
    if "n" in text:  # nan and inf
        return False
    return struct.pack(">f", float(text)).hex() == bits.lower()


def _signed(text: str, end: str) -> str:
    text += "" if any(mark in text for mark in ".e") else ".0"
    return f"({text}{end})" if text.startswith("-") else text + end
