"""The Triton text of every pointwise operator, reduction and scan of the loop language.

Half-precision types are computed in float32. On a GPU, functions come from libdevice (CUDA's
libdevice or AMD's ocml, with errors of one or two ulp, like PyTorch's own), because ``tl.exp`` and
``tl.log`` are hardware approximations. Triton's interpreter has no libdevice; there, numpy's
functions implement ``tl``.
"""

from __future__ import annotations

import math
import re

from kernelwright.compiler.ir.ir import NARROW

TYPES = {
    "float64": "tl.float64", "float32": "tl.float32", "float16": "tl.float16",
    "bfloat16": "tl.bfloat16", "float8_e4m3fn": "tl.float8e4nv", "float8_e5m2": "tl.float8e5",
    "int64": "tl.int64", "int32": "tl.int32", "int16": "tl.int16",
    "int8": "tl.int8", "uint8": "tl.uint8", "bool": "tl.int1",
}  # fmt: skip

_BOTH = {  # operator → Triton text that is the same on a GPU and in the interpreter
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "neg": "-{0}",
    "abs": "tl.abs({0})", "floor": "tl.floor({0})", "ceil": "tl.ceil({0})",
    "square": "{0} * {0}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}", "and": "{0} & {1}",
    "or": "{0} | {1}", "xor": "{0} ^ {1}", "rshift": "{0} >> {1}",
    "not": "{0} == 0", "isnan": "{0} != {0}",
    "isinf": 'tl.abs({0}) == float("inf")', "where": "tl.where({0}, {1}, {2})",
    "erf": "tl.erf({0})", "within": "tl.where(({0} >= 0) & ({0} < {1}), {0}, 0)",
    "sign": "tl.where({0} > 0, 1.0, tl.where({0} < 0, -1.0, 0.0))",
    "trunc": "tl.where({0} < 0, tl.ceil({0}), tl.floor({0}))",
}  # fmt: skip

_GPU = {
    "exp": "libdevice.exp({0})", "expm1": "libdevice.expm1({0})", "log": "libdevice.log({0})",
    "log1p": "libdevice.log1p({0})", "log2": "libdevice.log2({0})", "sin": "libdevice.sin({0})",
    "cos": "libdevice.cos({0})", "tanh": "libdevice.tanh({0})", "round": "libdevice.rint({0})",
    "pow": "libdevice.pow({0}, {1})", "fmod": "libdevice.fmod({0}, {1})",
    "atan2": "libdevice.atan2({0}, {1})", "rsqrt": "libdevice.rsqrt({0})",
}  # fmt: skip

_INTERPRETED = {  # through float64 where tl has no function, so that the result is rounded once
    "exp": "tl.exp({0})", "expm1": "(tl.exp({0}.to(tl.float64)) - 1.0).to({0}.dtype)",
    "log": "tl.log({0})", "log1p": "tl.log(1.0 + {0}.to(tl.float64)).to({0}.dtype)",
    "log2": "tl.log2({0})", "sin": "tl.sin({0})", "cos": "tl.cos({0})",
    "tanh": "wide_tanh({0}.to(tl.float64)).to({0}.dtype)", "round": "round_half_even({0})",
    "pow": "wide_power({0}.to(tl.float64), {1}).to({0}.dtype)", "fmod": "{0} % {1}",
    "rsqrt": "(1.0 / tl.sqrt({0}.to(tl.float64))).to({0}.dtype)",
}  # fmt: skip

_FLOAT32 = {"div": "tl.div_rn({0}, {1})", "sqrt": "tl.sqrt_rn({0})"}
_FLOAT64 = {"div": "{0} / {1}", "sqrt": "tl.sqrt({0})"}

_PIECES = {
    "exponent_of_scale": """\
@triton.jit
def exponent_of_scale(largest):
    # of the power of two that brings a row's largest magnitude to 2^14 or up to twice that
    return tl.minimum(tl.maximum(268 - (largest >> 23), 1), 253)
""",
    "nan_maximum": """\
@triton.jit
def nan_maximum(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
""",
    "nan_minimum": """\
@triton.jit
def nan_minimum(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
""",
    "int_maximum": """\
@triton.jit
def int_maximum(a, b):
    return tl.maximum(a, b)
""",
    "int_minimum": """\
@triton.jit
def int_minimum(a, b):
    return tl.minimum(a, b)
""",
    "tile_max": """\
@triton.jit
def tile_max(x, axis: tl.constexpr, keep_dims: tl.constexpr):
    return tl.reduce(x, axis, nan_maximum, keep_dims=keep_dims)
""",
    "tile_min": """\
@triton.jit
def tile_min(x, axis: tl.constexpr, keep_dims: tl.constexpr):
    return tl.reduce(x, axis, nan_minimum, keep_dims=keep_dims)
""",
    "decayed": """\
@triton.jit
def decayed(kept, added, kept_after, added_after):
    # two stretches of a decaying sum as one
    return kept * kept_after, added * kept_after + added_after
""",
    "multiply": """\
@triton.jit
def multiply(a, b):
    return a * b
""",
    "first_greatest": """\
@triton.jit
def first_greatest(a, a_index, b, b_index):
    # torch.argmax: NaN is greater than all, the first of equals wins
    greater = (a > b) | ((a != a) & (b == b))
    equal = (a == b) | ((a != a) & (b != b))
    keep = greater | (equal & (a_index < b_index))
    return tl.where(keep, a, b), tl.where(keep, a_index, b_index)
""",
    "first_least": """\
@triton.jit
def first_least(a, a_index, b, b_index):
    # torch.argmin: NaN is less than all, the first of equals wins
    less = (a < b) | ((a != a) & (b == b))
    equal = (a == b) | ((a != a) & (b != b))
    keep = less | (equal & (a_index < b_index))
    return tl.where(keep, a, b), tl.where(keep, a_index, b_index)
""",
    "round_half_even": """\
@triton.jit
def round_half_even(x):
    low = tl.floor(x)
    odd = low - 2.0 * tl.floor(low * 0.5)
    up = (x - low > 0.5) | ((x - low == 0.5) & (odd == 1.0))
    return tl.where(up, low + 1.0, low)
""",
    "wide_power": """\
@triton.jit
def wide_power(x, y):
    size = tl.exp(y * tl.log(tl.abs(x)))
    whole = tl.floor(y) == y
    odd = whole & (tl.floor(y * 0.5) * 2.0 != y)
    signed = tl.where(odd, -size, tl.where(whole, size, float("nan")))
    return tl.where(y == 0.0, 1.0, tl.where(x < 0.0, signed, size))
""",
    "wide_tanh": """\
@triton.jit
def wide_tanh(x):
    e = tl.exp(-2.0 * tl.abs(x))
    size = (1.0 - e) / (1.0 + e)
    return tl.where(x < 0.0, -size, size)
""",
    "to_bfloat16": """\
@triton.jit
def to_bfloat16(x):
    # Triton's interpreter cuts the low bits off; round to nearest even before it does
    bits = x.to(tl.uint32, bitcast=True)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    kept = tl.where(x == x, rounded, bits)
    return kept.to(tl.uint32).to(tl.float32, bitcast=True).to(tl.bfloat16)
""",
}

_INTERPRETED_PIECES = {  # the interpreter runs a tl.reduce with a custom function value by value
    name: f"""\
@triton.jit
def {name}(x, axis: tl.constexpr, keep_dims: tl.constexpr):
    n_nan = tl.sum((x != x).to(tl.int32), axis, keep_dims=keep_dims)
    return tl.where(n_nan > 0, float("nan"), tl.{name[-3:]}(x, axis, keep_dims=keep_dims))
"""
    for name in ("tile_max", "tile_min")
}


def held(dtype: str) -> str:
    """Return the dtype in which a value of ``dtype`` is computed and kept in registers."""
    return "float32" if dtype in NARROW else dtype


def literal(value: float | int | bool, dtype: str) -> str:
    """Return a number as Python text that Triton reads in ``dtype``."""
    if dtype == "bool":
        return str(bool(value))
    if "float" not in dtype:
        return str(int(value))
    value = float(value)
    text = repr(value) if math.isfinite(value) else f'float("{value}")'
    return f"tl.full((), {text}, tl.float64)" if dtype == "float64" else text


def prelude(text: str, *, interpreted: bool) -> str:
    """Return the definitions of the functions that ``text`` uses, and of those that they use."""
    bodies = _PIECES | (_INTERPRETED_PIECES if interpreted else {})
    used: dict[str, str] = {}
    pending = text
    while found := [n for n in bodies if n not in used and re.search(rf"\b{n}\b", pending)]:
        pending = "".join(bodies[name] for name in found)
        used = {name: bodies[name] for name in found} | used
    return "\n\n".join(used.values())


def pointwise(op: str, args: list[str], dtype: str, *, interpreted: bool) -> str:
    """Return the expression for ``op`` of ir.POINTWISE other than 'cast'; ``dtype`` is the dtype it
    computes in."""
    is_float = "float" in dtype
    if op in ("maximum", "minimum", "relu"):
        name = "maximum" if op == "relu" else op
        second = args[1] if len(args) > 1 else literal(0, dtype)
        nan = ", propagate_nan=tl.PropagateNan.ALL" if is_float else ""
        return f"tl.{name}({args[0]}, {second}{nan})"
    if op == "reciprocal":
        return pointwise("div", [literal(1, dtype), *args], dtype, interpreted=interpreted)
    if op == "sigmoid":
        exp = pointwise("exp", [f"(-{args[0]})"], dtype, interpreted=interpreted)
        return pointwise(
            "div", [literal(1, dtype), f"(1.0 + {exp})"], dtype, interpreted=interpreted
        )
    if not is_float and op in ("div", "fmod", "sign", "floor", "ceil", "round", "trunc"):
        return _integer(op, args)
    if op == "div" and (inverse := _exact_inverse(args[1])):
        return f"{args[0]} * {inverse}"
    exact = _FLOAT64 if dtype == "float64" else _FLOAT32
    table = _BOTH | exact | (_INTERPRETED if interpreted else _GPU)
    return table[op].format(*args)


def _exact_inverse(text: str) -> str:
    """Return the inverse of a literal power of two; empty for anything else. Multiplying by it is
    as exact as dividing, and takes one instruction."""
    try:
        fraction, exponent = math.frexp(float(text))
    except ValueError:
        return ""
    return repr(2.0 ** (1 - exponent)) if fraction == 0.5 and abs(exponent) < 100 else ""


def _integer(op: str, args: list[str]) -> str:
    match op:
        case "fmod":
            return f"{args[0]} % {args[1]}"
        case "div":
            return f"{args[0]} // {args[1]}"
        case "sign":
            return f"tl.where({args[0]} > 0, 1, tl.where({args[0]} < 0, -1, 0))"
    return args[0]


def reduce(op: str, value: str, axis: int, dtype: str, *, keep_dims: bool) -> str:
    """Return ``op`` of ir.REDUCTIONS, other than argmax and argmin, over one axis of a tile."""
    where = f"axis={axis}" + (", keep_dims=True" if keep_dims else "")
    match op:
        case "sum":
            return f"tl.sum({value}, {where})"
        case "prod":
            return f"tl.reduce({value}, {axis}, multiply{', keep_dims=True' if keep_dims else ''})"
        case "max" | "min" if "float" in dtype:
            return f"tile_{op}({value}, {axis}, {keep_dims})"
        case "max" | "min":
            return f"tl.{op}({value}, {where})"
        case "any":
            return f"tl.max(({value}).to(tl.int32), {where}) != 0"
    return f"tl.min(({value}).to(tl.int32), {where}) != 0"


def accumulate(op: str, acc: str, value: str, dtype: str) -> str:
    """Return the accumulator with one more value, for ops other than argmax and argmin."""
    match op:
        case "sum":
            return f"{acc} + {value}"
        case "prod":
            return f"{acc} * {value}"
        case "max" | "min":
            return pointwise(f"{op}imum", [acc, value], dtype, interpreted=False)
        case "any":
            return f"{acc} | {value}"
    return f"{acc} & {value}"


def scan(op: str, value: str, axis: int, dtype: str) -> str:
    """Return an inclusive scan with ``op`` of ir.SCANS along one axis of a tile."""
    match op:
        case "sum":
            return f"tl.cumsum({value}, axis={axis})"
        case "prod":
            return f"tl.cumprod({value}, axis={axis})"
    name = f"{'nan' if 'float' in dtype else 'int'}_{op}imum"
    return f"tl.associative_scan({value}, {axis}, {name})"
