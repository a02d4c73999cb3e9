"""The C++ expression for each pointwise operator of the loop language."""

from __future__ import annotations

from kernelwright.compiler.codegen.cpp.types import (
    FLOATS,
    arithmetic,
    literal,
    promoted,
)
from kernelwright.compiler.ir.ir import NARROW

INFIX = {"add": "+", "sub": "-", "mul": "*"}
COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
BITS = {"and": "&", "or": "|", "xor": "^", "rshift": ">>"}
BUILTIN = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "rint", "trunc": "trunc",
    "atan2": "atan2", "fmod": "fmod", "abs": "fabs",
}  # fmt: skip


def cast(text: str, source: str, target: str) -> str:
    """Convert ``text`` of dtype ``source`` to the arithmetic type of ``target``."""
    if target == "bool" and source != "bool":
        return f"({text} != 0)"
    if arithmetic(source) == arithmetic(target):
        return text
    if target == "uint8" and source in FLOATS:  # a negative float wraps around, as in torch
        return f"(uint8_t)(int32_t){text}"
    return f"({arithmetic(target)}){text}"


def pointwise(op: str, args: list[tuple[str, str]], dtype: str) -> str:
    """Return the expression for ``op`` on ``args`` (name, dtype), with a result of ``dtype``."""
    if op == "cast":
        return cast(args[0][0], args[0][1], dtype)
    if op in COMPARE:
        common = promoted([d for _, d in args])
        left, right = (cast(name, d, common) for name, d in args)
        return f"{left} {COMPARE[op]} {right}"
    if op in ("isnan", "isinf"):
        return _classify(op, *args[0])
    if op == "not":
        return f"!{args[0][0]}"
    if op == "where":
        left, right = (cast(name, d, dtype) for name, d in args[1:])
        return f"{cast(args[0][0], args[0][1], 'bool')} ? {left} : {right}"
    names = [cast(name, d, dtype) for name, d in args]
    if op == "within":
        return f"math::within({', '.join(names)}, outside)"
    return _arithmetic(op, names, dtype)


def _classify(op: str, name: str, dtype: str) -> str:
    if dtype not in FLOATS:
        return "false"
    if op == "isnan":
        return f"{name} != {name}"
    suffix = "" if dtype == "float64" else "f"
    return f"__builtin_fabs{suffix}({name}) == __builtin_inf{suffix}()"


def _arithmetic(op: str, names: list[str], dtype: str) -> str:
    is_float, x = dtype in FLOATS, names[0]
    suffix = "" if dtype == "float64" else "f"
    one, zero = literal(1, dtype), literal(0, dtype)
    if op in BITS or (dtype == "bool" and op in ("add", "mul")):
        sign = BITS.get(op) or {"add": "|", "mul": "&"}[op]
        return f"{names[0]} {sign} {names[1]}"
    if op in INFIX:
        return _narrow(f"{names[0]} {INFIX[op]} {names[1]}", dtype)
    if op == "div":
        return f"{names[0]} / {names[1]}"
    if op == "neg":
        return _narrow(f"-{x}", dtype)
    if op == "square":
        return _narrow(f"{x} * {x}", dtype)
    if op == "reciprocal":
        return f"{one} / {x}"
    if op == "rsqrt":
        return f"{one} / __builtin_sqrt{suffix}({x})"
    if op == "relu":  # NaN fails the comparison and is kept
        return f"{x} < {zero} ? {zero} : {x}"
    if op == "abs" and not is_float:
        return _narrow(f"{x} < 0 ? -{x} : {x}", dtype)
    if op == "fmod" and not is_float:
        return f"{names[0]} % {names[1]}"
    if op in BUILTIN:
        if not is_float:  # floor and similar functions leave an integer unchanged
            return x
        return f"__builtin_{BUILTIN[op]}{suffix}({', '.join(names)})"
    return f"math::{op}({', '.join(names)})"


def _narrow(text: str, dtype: str) -> str:
    """Wrap small integers to their own width, because C++ computes them in int."""
    if dtype in ("uint8", "int8", "int16"):
        return f"({arithmetic(dtype)})({text})"
    return text


def loaded(text: str, dtype: str) -> str:
    """Return the element ``text`` of a tensor of ``dtype`` as an arithmetic value."""
    return f"math::from_{dtype}({text})" if dtype in NARROW else text


def stored(text: str, source: str, dtype: str) -> str:
    """Return a value of dtype ``source`` as it is stored in a tensor of ``dtype``."""
    value = cast(text, source, dtype)
    return f"math::to_{dtype}({value})" if dtype in NARROW else value
