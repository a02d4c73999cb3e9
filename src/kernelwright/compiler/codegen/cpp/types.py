"""C++ names and types: the type of a dtype in memory and in arithmetic, literals, identifiers."""

from __future__ import annotations

import keyword
import math
import re

from kernelwright.compiler.ir.ir import NARROW
from kernelwright.compiler.ir.sizes import NAMES

MEMORY = {
    "float32": "float", "float64": "double", "bfloat16": "uint16_t", "float16": "uint16_t",
    "float8_e4m3fn": "uint8_t", "float8_e5m2": "uint8_t",
    "int64": "int64_t", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t",
    "uint8": "uint8_t", "bool": "bool",
}  # fmt: skip
SIZE_BYTES = {
    "float32": 4, "float64": 8, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "int16": 2,
    "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
FLOATS = ("float32", "float64", *NARROW)
_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", *NARROW[::-1], "float32", "float64")

_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
class compl const const_cast constexpr continue decltype default delete do double dynamic_cast
else enum explicit export extern false float for friend goto if inline int int64_t int32_t
int16_t int8_t uint8_t uint16_t uint32_t long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast return short signed sizeof
static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq math lane
lanes lanes_t index vec part chunk main linux unix errno NAN INFINITY
"""
RESERVED = frozenset([*_WORDS.split(), *NAMES])
"""C++ keywords, names from the included headers, and names that emitted text uses."""


def arithmetic(dtype: str) -> str:
    """Return the C++ type in which values of ``dtype`` are computed: float for half-precision
    types."""
    return "float" if dtype in NARROW else MEMORY[dtype]


def promoted(dtypes: list[str]) -> str:
    """Return the dtype in which values of these dtypes are compared."""
    return max(dtypes, key=_ORDER.index)


def literal(value: float | int | bool, dtype: str) -> str:
    """Return ``value`` as a C++ literal of the arithmetic type of ``dtype``."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype not in FLOATS:
        number = int(value)
        if number == -(2**63):
            return "INT64_MIN"
        return f"INT64_C({number})" if abs(number) >= 2**31 else str(number)
    suffix = "" if dtype == "float64" else "f"
    number = float(value)
    if math.isnan(number):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(number) or (suffix and abs(number) > 3.4028235677973366e38):  # rounds to infinity
        return ("-" if number < 0 else "") + f"__builtin_inf{suffix}()"
    text = repr(number)
    return text + suffix if "." in text or "e" in text else f"{text}.0{suffix}"


class Names:
    """Identifiers for C++: each is valid and different from all others."""

    def __init__(self, taken: frozenset[str] = RESERVED) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """Return ``wanted`` if it is free and valid, otherwise a similar name."""
        stem = re.sub(r"_+", "_", re.sub(r"\W", "_", wanted, flags=re.ASCII)).strip("_") or "v"
        if stem[0].isdigit() or keyword.iskeyword(stem):
            stem = f"v_{stem}"
        name, count = stem, 1
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name
