"""What PTX's instructions compute, written from the PTX ISA in Python, apart from the tables.

Operands and results are bits. Floating-point results are exact fractions that are rounded once.
"""

import math
import struct
from fractions import Fraction

INTEGERS = {"8": 8, "16": 16, "32": 32, "64": 64}
REAL = {"f16": (11, 5), "bf16": (8, 8), "f32": (24, 8), "f64": (53, 11)}
"""Bits of the significand, with the hidden one, and of the exponent."""
NAN = "nan"


def width(kind):
    return int(kind.lstrip("usbf")) if kind[0] in "usb" and kind != "bf16" else sum(REAL[kind])


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def number(value, kind):
    """The number that bits of a kind are."""
    if kind in REAL:
        return real(value, kind)
    bits = width(kind)
    return signed(value, bits) if kind[0] == "s" else value & ((1 << bits) - 1)


def real(bits, kind):
    """Fraction, or (sign, 'inf'), NAN; zero keeps its sign as (sign, 'zero')."""
    p, e = REAL[kind]
    sign = -1 if bits >> (p + e - 1) & 1 else 1
    exponent, mantissa = bits >> (p - 1) & ((1 << e) - 1), bits & ((1 << (p - 1)) - 1)
    if exponent == (1 << e) - 1:
        return NAN if mantissa else (sign, "inf")
    if exponent == 0 and mantissa == 0:
        return (sign, "zero")
    bias = (1 << (e - 1)) - 1
    scale = (exponent or 1) - bias - (p - 1)
    whole = mantissa | (1 << (p - 1) if exponent else 0)
    return sign * whole * Fraction(2) ** scale


def rounded(value, kind, mode="rn", zero=1):
    """The bits of a value of a kind; ``zero`` is the sign of an exact zero."""
    p, e = REAL[kind]
    top = (1 << e) - 1
    if value == NAN:
        return NAN
    if isinstance(value, tuple):
        sign = 0 if value[0] > 0 else 1
        return sign << (p + e - 1) | (top << (p - 1) if value[1] == "inf" else 0)
    if value == 0:
        return (0 if zero > 0 else 1) << (p + e - 1)
    sign, size = (1, -value) if value < 0 else (0, value)
    bias = (1 << (e - 1)) - 1
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** exponent > size:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    exponent = max(exponent, 1 - bias)
    units = size / Fraction(2) ** (exponent - (p - 1))
    low = units.numerator // units.denominator
    rest = units - low
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low & 1),
        "rz": False,
        "rm": bool(rest) and sign,
        "rp": bool(rest) and not sign,
        "rna": rest >= Fraction(1, 2),
    }[mode]
    low += bool(up)
    if low >> p:
        low, exponent = low >> 1, exponent + 1
    if exponent > bias:
        is_finite = mode == "rz" or (mode == "rm" and not sign) or (mode == "rp" and sign)
        body = (top << (p - 1)) - (1 if is_finite else 0)
    elif low >> (p - 1):
        body = (exponent + bias) << (p - 1) | (low & ((1 << (p - 1)) - 1))
    else:
        body = low
    return sign << (p + e - 1) | body


def flushed(bits, kind="f32"):
    p, e = REAL[kind]
    return bits if bits >> (p - 1) & ((1 << e) - 1) else bits & (1 << (p + e - 1))


def _sign(value):
    return value[0] if isinstance(value, tuple) else -1 if value < 0 else 1


def _is(value, word):
    return isinstance(value, tuple) and value[1] == word


def _plain(value):
    return Fraction(0) if _is(value, "zero") else value


def add(a, b, mode):
    """(value, sign of an exact zero)."""
    if NAN in (a, b) or (_is(a, "inf") and _is(b, "inf") and _sign(a) != _sign(b)):
        return NAN, 1
    for one in (a, b):
        if _is(one, "inf"):
            return one, 1
    zero = _sign(a) if _plain(a) == _plain(b) == 0 and _sign(a) == _sign(b) else (
        -1 if mode == "rm" else 1)  # fmt: skip
    return _plain(a) + _plain(b), zero


def product(a, b):
    if NAN in (a, b):
        return NAN
    sign = _sign(a) * _sign(b)
    if _is(a, "inf") or _is(b, "inf"):
        return NAN if _is(a, "zero") or _is(b, "zero") else (sign, "inf")
    value = _plain(a) * _plain(b)
    return value if value else (sign, "zero")


def quotient(a, b):
    if NAN in (a, b) or (_is(a, "inf") and _is(b, "inf")) or (_is(a, "zero") and _is(b, "zero")):
        return NAN
    sign = _sign(a) * _sign(b)
    if _is(a, "inf") or _is(b, "zero"):
        return (sign, "inf")
    if _is(b, "inf") or _is(a, "zero"):
        return (sign, "zero")
    return a / b


def root(value, kind, mode):
    """Bits of a square root."""
    if value == NAN or (_sign(value) < 0 and not _is(value, "zero")):
        return NAN
    if isinstance(value, tuple):
        return rounded(value, kind)
    shift = 400 if kind == "f32" else 2400
    scaled = value * Fraction(2) ** shift
    low = math.isqrt(scaled.numerator // scaled.denominator)
    exact = low * low == scaled
    # a little more than the root's floor, so that rounding sees what was cut off
    found = Fraction(low) + (0 if exact else Fraction(1, 3))
    return rounded(found / Fraction(2) ** (shift // 2), kind, mode)


def compared(a, b, how):
    """A comparison of numbers, of floats with what is no number."""
    if NAN in (a, b) if isinstance(a, (str, tuple, Fraction)) else False:
        return how in ("equ", "neu", "ltu", "leu", "gtu", "geu", "nan")
    if how in ("num", "nan"):
        return how == "num"
    a, b = _ordinal(a), _ordinal(b)
    how = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge",
           "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(how, how)  # fmt: skip
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[how]


def _ordinal(value):
    if _is(value, "inf"):
        return math.inf * value[0]
    return _plain(value)


def arithmetic(op, kind, values, mods):
    """add, sub, mul, fma, div, rcp, sqrt of bits, with rounding, flushing and saturation."""
    mode = next((m for m in ("rn", "rz", "rm", "rp") if m in mods), "rn")
    if "ftz" in mods:
        values = [flushed(v) for v in values]
    numbers = [real(v, kind) for v in values]
    zero = 1
    if op == "sqrt":
        bits = root(numbers[0], kind, mode)
    else:
        if op in ("add", "sub"):
            b = numbers[1]
            if op == "sub" and b != NAN:
                b = (-b[0], b[1]) if isinstance(b, tuple) else -b
            value, zero = add(numbers[0], b, mode)
        elif op == "mul":
            value = product(*numbers)
        elif op in ("fma", "mad"):
            value, zero = add(product(*numbers[:2]), numbers[2], mode)
        elif op == "div":
            value = quotient(*numbers)
        else:
            value = quotient(Fraction(1), numbers[0])
        bits = rounded(value, kind, mode, zero)
    if bits == NAN:
        return 0 if "sat" in mods else NAN
    if "ftz" in mods:
        bits = flushed(bits)
    return unit(bits) if "sat" in mods else bits


def unit(bits):
    value = real(bits, "f32")
    if value == NAN or _ordinal(value) <= 0:
        return 0
    return 0x3F800000 if _ordinal(value) >= 1 else bits


def extremum(op, kind, a, b, mods):
    if "ftz" in mods:
        a, b = flushed(a, kind), flushed(b, kind)
    x, y = real(a, kind), real(b, kind)
    if NAN in (x, y):
        return NAN if "NaN" in mods or x == y == NAN else (b if x == NAN else a)
    key = [(_ordinal(v), _sign(v)) for v in (x, y)]
    is_a = key[0] <= key[1] if op == "min" else key[0] >= key[1]
    return a if is_a else b


def to_integer(value, kind, wide):
    """The nearest number of a type; ``wide`` says that what is no number is the highest bit."""
    bits = width(kind)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    if value == NAN:
        return 1 << (bits - 1) if wide else 0
    if _is(value, "inf"):
        return (high if value[0] > 0 else low) & ((1 << bits) - 1)
    return int(min(max(value, low), high)) & ((1 << bits) - 1)


def whole(value, mode):
    """A number without its fraction; zero keeps the sign."""
    if value == NAN or isinstance(value, tuple):
        return value
    found = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](value)
    return Fraction(found) if found else (-1 if value < 0 else 1, "zero")


def as_float(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


# ---- instructions: the bits of d by those of a, b, c…


def expected(opcode, given):
    """Return the bits that an instruction computes; LookupError if it has no model."""
    base, *mods = opcode.split(".")
    kind = mods[-1] if mods else ""
    if base in ("cvt", "setp", "set", "selp", "slct", "mov", "testp"):
        return globals()[f"_{base}"](mods, given)
    if kind in REAL or kind in ("f16x2", "bf16x2"):
        return _real(base, kind, mods, given)
    if base in ("and", "or", "xor", "not") and kind == "pred":
        a, b = given["a"], given.get("b", 0)
        return {"and": a & b, "or": a | b, "xor": a ^ b, "not": 1 - a}[base]
    return _integer(base, kind, mods, given)


def _integer(base, kind, mods, given):
    if (value := _odd(base, kind, mods, given)) is not None:
        return value
    bits = width(kind)
    mask = (1 << bits) - 1
    a, b, c = (number(given.get(name, 0), kind) for name in "abc")
    n, plain = given.get("b", 0), {name: v & mask for name, v in given.items()}
    if base in ("add", "sub") and "sat" in mods:
        return max(min(a + b if base == "add" else a - b, 2**31 - 1), -(2**31)) & mask
    if base in ("addc", "subc") or "cc" in mods or base == "madc":
        return _carried(base, mods, bits, a, b, c, given)
    simple = {
        "add": lambda: a + b, "sub": lambda: a - b, "and": lambda: a & b, "or": lambda: a | b,
        "xor": lambda: a ^ b, "not": lambda: ~a, "cnot": lambda: int(a == 0), "neg": lambda: -a,
        "abs": lambda: abs(a), "min": lambda: min(a, b), "max": lambda: max(a, b),
        "sad": lambda: abs(a - b) + c, "popc": lambda: plain["a"].bit_count(),
        "clz": lambda: bits - plain["a"].bit_length(),
        "brev": lambda: int(f"{plain['a']:0{bits}b}"[::-1], 2),
        "shl": lambda: 0 if n >= bits else a << n, "shr": lambda: a >> min(n, 64),
        "div": lambda: _toward_zero(a, b), "rem": lambda: a - b * _toward_zero(a, b),
        "bfind": lambda: _highest(a, bits, "shiftamt" in mods),
        "bfe": lambda: _extracted(a, bits, n & 255, given["c"] & 255, kind[0] == "s"),
    }  # fmt: skip
    if base in simple:
        value = simple[base]()
        return value & (0xFFFFFFFF if base in ("popc", "clz", "bfind") else mask)
    if base in ("mul", "mad"):
        part = next(m for m in ("lo", "hi", "wide") if m in mods)
        more = c if base == "mad" else 0
        if part == "wide":
            wide = (1 << 2 * bits) - 1
            return (a * b + (given["c"] if base == "mad" else 0)) & wide
        return ((a * b >> (bits if part == "hi" else 0)) + more) & mask
    if base in ("mul24", "mad24"):
        x, y = ((signed(v, 24) if kind[0] == "s" else v & 0xFFFFFF) for v in (a, b))
        return (x * y + (c if base == "mad24" else 0)) & mask
    return _bits(base, mods, bits, given)


def _odd(base, kind, mods, given):
    """Instructions that are not of one kind of numbers; None for others."""
    if base == "cvta":
        return given["a"]
    if kind in ("u16x2", "s16x2"):
        a, b = given["a"], given["b"]
        return (a + b) & 0xFFFF | ((a >> 16) + (b >> 16) & 0xFFFF) << 16
    if base == "vabsdiff4":
        apart = [abs((given["a"] >> k & 255) - (given["b"] >> k & 255)) for k in (0, 8, 16, 24)]
        if mods[-1] == "add":
            return (sum(apart) + given["c"]) & 0xFFFFFFFF
        return sum(byte << 8 * k for k, byte in enumerate(apart))
    if base == "prmt":
        return _permuted(mods, *(given[name] for name in "abc"))
    if base in ("dp4a", "dp2a"):
        return _dot(base, mods, given)
    return None


def _bits(base, mods, bits, given):
    a, b, c = (given.get(name, 0) for name in "abc")
    if base == "shf":
        n = given["n"] & 31 if "wrap" in mods else min(given["n"], 32)
        both = b << 32 | a
        return (both << n >> 32 if mods[0] == "l" else both >> n) & 0xFFFFFFFF
    if base == "lop3":
        columns = ((a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1 for k in range(32))
        return sum((given["table"] >> column & 1) << k for k, column in enumerate(columns))
    if base == "bfi":
        at, n = given["c"] & 255, given["n"] & 255
        mask = ((1 << min(n, bits)) - 1) << at & ((1 << bits) - 1)
        return b & ~mask | a << at & mask
    raise LookupError(base)


def _carried(base, mods, bits, a, b, c, given):
    """The result, and the flag behind the instruction; ``carry`` is the flag before."""
    found = _with_carry(base, mods, bits, a, b, c, given)
    return found if "cc" in mods else (found[0], given["carry"])


def _with_carry(base, mods, bits, a, b, c, given):
    mask = (1 << bits) - 1
    before = given.get("carry", 0) if base in ("addc", "subc", "madc") else 0
    if base in ("mad", "madc"):
        x = a * b & mask if "lo" in mods else a * b >> bits & mask
        y = c & mask
    else:
        x, y = a & mask, b & mask
    if base in ("sub", "subc"):
        return (x - y - before) & mask, int(x - y - before < 0)
    return (x + y + before) & mask, (x + y + before) >> bits


def _toward_zero(a, b):
    if b == 0:
        raise ZeroDivisionError
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def _highest(value, bits, is_distance):
    at = (~value if value < 0 else value).bit_length() - 1
    return 0xFFFFFFFF if at < 0 else bits - 1 - at if is_distance else at


def _extracted(value, bits, at, n, is_signed):
    """PTX ISA's own loop."""
    field = value & ((1 << bits) - 1)
    top = bits - 1
    sign = 0 if not is_signed or n == 0 else field >> min(at + n - 1, top) & 1
    return sum((field >> at + k & 1 if k < n and at + k <= top else sign) << k for k in range(bits))


def _permuted(mods, a, b, c):
    both = a | b << 32
    if len(mods) == 1:
        picks = [c >> 4 * k & 15 for k in range(4)]
    else:
        n = c & 3
        picks = {
            "f4e": [n + k for k in range(4)],
            "b4e": [(n - k) % 8 for k in range(4)],
            "rc8": [n] * 4,
            "ecl": [max(k, n) for k in range(4)],
            "ecr": [min(k, n) for k in range(4)],
            "rc16": [2 * (n & 1) + k % 2 for k in range(4)],
        }[mods[1]]
    out = 0
    for k, pick in enumerate(picks):
        byte = both >> 8 * (pick & 7) & 255
        out |= (255 * (byte >> 7) if pick & 8 else byte) << 8 * k
    return out


def _dot(base, mods, given):
    x_kind, y_kind = mods[-2][0], mods[-1][0]
    size, first = (8, 0) if base == "dp4a" else (16, 2 if "hi" in mods else 0)
    total = given["c"]
    for k in range(32 // size):
        x = given["a"] >> size * k & ((1 << size) - 1)
        y = given["b"] >> 8 * (first + k) & 255
        x = signed(x, size) if x_kind == "s" else x
        y = signed(y, 8) if y_kind == "s" else y
        total += x * y
    return total & 0xFFFFFFFF


def _real(base, kind, mods, given):
    if kind.endswith("x2"):
        halves = []
        for k in (0, 16):
            part = {n: v >> k & 0xFFFF for n, v in given.items()}
            halves.append(_real(base, kind.removesuffix("x2"), [*mods[:-1], kind[:-2]], part))
        return tuple(halves)
    values = [given[name] for name in "abc" if name in given]
    p, e = REAL[kind]
    sign = 1 << (p + e - 1)
    if base in ("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt") and "approx" not in mods:
        if "full" in mods:
            raise LookupError("an approximation")
        bits = arithmetic(base, kind, values, mods)
        is_negative = bits != NAN and bits & sign and bits != sign
        return 0 if "relu" in mods and (is_negative or bits == sign) else bits
    if base in ("min", "max"):
        return extremum(base, kind, *values, mods)
    a = flushed(values[0], kind) if "ftz" in mods else values[0]
    if base == "neg":
        return a ^ sign
    if base == "abs":
        return a & ~sign
    if base == "copysign":
        return values[1] & ~sign | values[0] & sign
    raise LookupError(base)


def _testp(mods, given):
    kind, value = mods[-1], real(given["a"], mods[-1])
    p, e = REAL[kind]
    exponent = given["a"] >> (p - 1) & ((1 << e) - 1)
    is_zero = _is(value, "zero")
    return int({
        "finite": value != NAN and not _is(value, "inf"), "infinite": _is(value, "inf"),
        "number": value != NAN, "notanumber": value == NAN,
        "normal": 0 < exponent < (1 << e) - 1, "subnormal": exponent == 0 and not is_zero,
    }[mods[0]])  # fmt: skip


def _joined(how, one, other):
    return {"and": one & other, "or": one | other, "xor": one ^ other}[how]


def _setp(mods, given):
    kind = mods[-1]
    a, b = given["a"], given["b"]
    if kind in REAL:
        a, b = (flushed(a), flushed(b)) if "ftz" in mods else (a, b)
        a, b = real(a, kind), real(b, kind)
        a, b = (Fraction(v) if isinstance(v, int) else v for v in (a, b))
        is_so = int(compared(a, b, mods[0]))
    else:
        is_so = int(compared(number(a, kind), number(b, kind), mods[0]))
    if mods[1] in ("and", "or", "xor"):
        return _joined(mods[1], is_so, given["p"])
    return is_so


def _set(mods, given):
    is_so = _setp([mods[0], mods[-1]], given)
    return is_so * (0x3F800000 if mods[1] == "f32" else 0xFFFFFFFF)


def _selp(mods, given):
    return given["a"] if given["p"] else given["b"]


def _slct(mods, given):
    c = number(given["c"], mods[-1])
    is_first = c != NAN and _ordinal(c) >= 0 if mods[-1] == "f32" else c >= 0
    return given["a"] if is_first else given["b"]


def _mov(mods, given):
    if "a" in given:
        return given["a"]
    parts = [given[f"a{k}"] for k in range(4) if f"a{k}" in given]
    size = width(mods[0]) // len(parts)
    return sum(part << size * k for k, part in enumerate(parts))


def _cvt(mods, given):
    to, source = mods[-2], mods[-1]
    mode = next((m for m in mods if m in ("rn", "rz", "rm", "rp", "rna")), "rn")
    round_to = next((m for m in mods if m in ("rni", "rzi", "rmi", "rpi")), "")
    if to.endswith("x2"):
        return tuple(
            _relu(_cvt([*mods[:-2], to[:-2], source], {"a": given[name]}), mods) for name in "ba"
        )
    if source not in REAL:
        value = number(given["a"], source)
        if to in REAL:
            return rounded(Fraction(value), to, mode)
        if "sat" in mods:
            return to_integer(Fraction(value), to, False)
        return value & ((1 << width(to)) - 1)
    value = real(flushed(given["a"]) if "ftz" in mods and source == "f32" else given["a"], source)
    if to == "tf32":
        return _tf32(given["a"])
    if to not in REAL:
        found = whole(value, round_to)
        is_wide = source == "f64" or width(to) == 64
        return to_integer(Fraction(0) if _is(found, "zero") else found, to, is_wide)
    if round_to:
        value = whole(value, round_to)
    bits = rounded(value, to, mode)
    if "ftz" in mods and to == "f32" and bits != NAN:
        bits = flushed(bits)
    return unit(0 if bits == NAN else bits) if "sat" in mods else bits


def _relu(bits, mods):
    return 0 if "relu" in mods and bits != NAN and bits >> 15 else bits


def _tf32(bits):
    value = real(bits, "f32")
    if value == NAN or isinstance(value, tuple):
        return bits
    return (bits + 0x1000) & 0xFFFFE000
