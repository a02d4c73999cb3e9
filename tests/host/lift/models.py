"""What rows of the tables compute, in Python and from the mnemonic alone: the other opinion."""

import math
import struct
from fractions import Fraction

import numpy as np

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
COMPARED = {
    "LT": lambda a, b: a < b, "GT": lambda a, b: a > b, "LE": lambda a, b: a <= b,
    "GE": lambda a, b: a >= b, "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b,
}  # fmt: skip
JOINED = {"AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b}


def s32(a):
    return (a & M32) - ((a & 1 << 31) << 1)


def s64(a):
    return (a & M64) - ((a & 1 << 63) << 1)


def f32(a):
    return struct.unpack("<f", struct.pack("<I", a & M32))[0]


def f64(a):
    return struct.unpack("<d", struct.pack("<Q", a & M64))[0]


def bits32(x):
    return int(np.float32(x).view(np.uint32))


def bits64(x):
    return int(np.float64(x).view(np.uint64))


def flushed(x):
    return math.copysign(0.0, x) if abs(x) < 2.0**-126 else x


def integer_of(mods, default="S32"):
    return next((m for m in mods if m in ("S32", "U32", "S64", "U64", "S8", "U8", "S16", "U16")),
                default)  # fmt: skip


def model(mnemonic, v):
    """Return the results of one row by their names; an absent one is not checked."""
    base, *mods = mnemonic.split(".")
    with np.errstate(all="ignore"):
        plain = base.removeprefix("U") if base.startswith("U") else base
        return MODELS[plain](mods, v)


def imad(mods, v):
    a, b, c = v["a"], v["b"], v["c"]
    if "WIDE" in mods or "HI" in mods:
        product = a * b if "U32" in mods else s32(a) * s32(b)
        total = (product & M64) + c + v.get("x", 0)
        wide = total & M64
        return {"d": wide >> 32 if "HI" in mods else wide, "p": int(total > M64)}
    return {"d": (a * b + c + v.get("x", 0)) & M32}


def iadd3(_mods, v):
    total = v["a"] + v["b"] + v["c"] + v.get("x", 0) + v.get("y", 0)
    carry = total >> 32
    return {"d": total & M32, "p": int(carry >= 1), "q": int(carry >= 2)}


def lop3(_mods, v):
    d = 0
    for k in range(32):
        at = (v["a"] >> k & 1) << 2 | (v["b"] >> k & 1) << 1 | (v["c"] >> k & 1)
        d |= (v["table"] >> at & 1) << k
    return {"d": d, "p": int(d != 0 or v["x"])}


def plop3(_mods, v):
    at = v["a"] << 2 | v["b"] << 1 | v["c"]
    return {"p": v["s"] >> at & 1, "q": v["t"] >> at & 1}


def combined(result, mods, v):
    logic = next(JOINED[m] for m in mods if m in JOINED)
    return {"p": logic(int(result), v["c"]), "q": logic(int(not result), v["c"])}


def isetp(mods, v):
    a, b = (v["a"], v["b"]) if "U32" in mods else (s32(v["a"]), s32(v["b"]))
    result = COMPARED[mods[0]](a, b)
    if "EX" in mods:  # of 64 bits, whose lower words have been compared
        decided = a == b
        if mods[0] in ("EQ", "NE"):
            result = (a == b and v["low"]) if mods[0] == "EQ" else (a != b or v["low"])
        else:
            result = v["low"] if decided else result
    return combined(result, mods, v)


def minmax(mods, v):
    a, b = (v["a"], v["b"]) if "U32" in mods else (s32(v["a"]), s32(v["b"]))
    return {"d": (min(a, b) if v["is_min"] else max(a, b)) & M32}


def addminmax(mods, v):
    total = (v["a"] + v["b"]) & M32
    return minmax(mods, v | {"a": total, "b": v["c"]})


def lea(mods, v):
    n = v["n"] & 31
    if "HI" not in mods:
        total = (v["a"] << n & M32) + v["b"]
        return {"d": total & M32, "p": int(total > M32)}
    wide = s32(v["a"]) & M64 if "SX32" in mods else v["high"] << 32 | v["a"]
    total = ((wide << n) >> 32 & M32) + v["b"] + v.get("x", 0)
    return {"d": total & M32, "p": int(total > M32)}


def shf(mods, v):
    type_ = next(m for m in mods if m in ("U32", "S32", "U64", "S64"))
    width = int(type_[1:])
    wide = v["high"] << 32 | v["low"]
    n = v["n"] & (width - 1) if "W" in mods else min(v["n"], width)
    if mods[0] == "L":
        shifted = (wide if "HI" in mods else v["low"]) << n
    elif "HI" in mods and width == 32:
        shifted = (s32(v["high"]) if type_ == "S32" else v["high"]) >> n << 32
    else:
        shifted = (s64(wide) if type_[0] == "S" else wide) >> n
    return {"d": (shifted >> 32 if "HI" in mods else shifted) & M32}


def prmt(_mods, v):
    wide, d = v["b"] << 32 | v["a"], 0
    for k in range(4):
        pick = v["pick"] >> 4 * k & 15
        byte = wide >> 8 * (pick & 7) & 255
        d |= (byte if pick < 8 else 255 * (byte >> 7)) << 8 * k
    return {"d": d}


def flo(mods, v):
    a = v["a"] if "U32" in mods or s32(v["a"]) >= 0 else ~v["a"] & M32
    at = a.bit_length() - 1
    return {"d": M32 if a == 0 else 31 - at if "SH" in mods else at, "p": int(a != 0)}


def bmsk(mods, v):
    at, n = (v["at"] & 31, v["n"] & 31) if "W" in mods else (min(v["at"], 32), min(v["n"], 32))
    return {"d": ((1 << n) - 1) << at & M32}


def sgxt(mods, v):
    n = min(v["n"], 32)
    a = v["a"] & ((1 << n) - 1)
    return {"d": (a - (1 << n) if "U32" not in mods and n and a >> (n - 1) else a) & M32}


def byte_of(mods):
    return next((8 * int(m[1]) for m in mods if m[0] == "B"), 0)


def p2r(mods, v):
    at = byte_of(mods)
    mask = v["mask"] << at & M32
    return {"d": (v["a"] & ~mask) | (v["PREDICATES"] << at & mask)}


def r2p(mods, v):
    given, mask = v["a"] >> byte_of(mods), v["mask"] & 127
    return {"PREDICATES": (v["PREDICATES"] & ~mask) | (given & mask)}


def exact(op, a, b, c=0.0):
    """Return op's sum or product as a fraction; None if an operand is not finite."""
    if not all(map(math.isfinite, (a, b, c))):
        return None
    x, y, z = Fraction(a), Fraction(b), Fraction(c)
    return {"ADD": x + y, "MUL": x * y, "FMA": x * y + z}[op]


def rounded(value, mode, single):
    """Return a fraction as a float, towards minus (RM) or plus infinity (RP) or zero (RZ), or to
    the nearest."""
    make = np.float32 if single else np.float64
    near = nearest32(value) if single else np.float64(as_float(value))
    if mode == "RN" or (np.isfinite(near) and Fraction(float(near)) == value):
        return near
    over = (np.isinf(near) and near > 0) or (np.isfinite(near) and Fraction(float(near)) > value)
    down = mode == "RM" or (mode == "RZ" and value > 0)
    if down and over:
        return np.nextafter(near, make(-np.inf))
    return np.nextafter(near, make(np.inf)) if not down and not over else near


def as_float(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def nearest32(value):
    """Return the single nearest to a fraction, without rounding to a double first."""
    near = np.float32(as_float(value))
    places = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    finite = [x for x in places if np.isfinite(x)]
    if np.isinf(near) or len(finite) < 3:
        return near
    far = [abs(Fraction(float(x)) - value) for x in finite]
    best = [x for x, d in zip(finite, far, strict=True) if d == min(far)]
    return next((x for x in best if bits32(x) % 2 == 0), best[0]) if len(best) > 1 else best[0]


def arithmetic(op, single):
    def run(mods, v):
        read, image = (f32, bits32) if single else (f64, bits64)
        a, b, c = (read(v.get(name, v.get(other, 0))) for name, other in
                   (("a", "x"), ("b", "y"), ("c", "c")))  # fmt: skip
        if "FTZ" in mods:
            a, b, c = flushed(a), flushed(b), flushed(c)
        scale = next((m for m in mods if m[0] in "DM" and m[1:].isdigit()), None)
        if scale:
            a = float(np.float32(a) * np.float32(2.0 ** ({"2": 1, "4": 2, "8": 3}[scale[1]]
                      * (-1 if scale[0] == "D" else 1))))  # fmt: skip
        value = exact(op, a, b, c)
        mode = next((m for m in mods if m in ("RM", "RP", "RZ")), "RN")
        if value is None or value == 0:
            make = np.float32 if single else np.float64
            x, y, z = make(a), make(b), make(c)
            product = np.float64(x) * np.float64(y)
            result = make({"ADD": x + y, "MUL": x * y, "FMA": product + z}[op])
            if value == 0 and mode == "RM" and op != "MUL" and not _same_zero(op, a, b, c):
                result = -abs(result)
        else:
            result = rounded(value, mode, single)
        if "FTZ" in mods:
            result = flushed(float(result))
        if "SAT" in mods:
            result = 0.0 if math.isnan(result) else min(max(float(result), 0.0), 1.0) + 0.0
        return {"d": image(result)}

    return run


def _same_zero(op, a, b, c):
    """Return whether both addends of a sum that is zero are zeros of one sign."""
    x = a * b if op == "FMA" else a
    y = c if op == "FMA" else b
    return x == y == 0 and math.copysign(1, x) == math.copysign(1, y)


def fmnmx(single):
    def run(mods, v):
        read, image = (f32, bits32) if single else (f64, bits64)
        a, b = read(v.get("a", v.get("x"))), read(v.get("b", v.get("y")))
        if "FTZ" in mods:
            a, b = flushed(a), flushed(b)
        if math.isnan(a) or math.isnan(b):
            return {"d": image(b if math.isnan(a) else a)}
        low, high = sorted((a, b), key=lambda x: (x, math.copysign(1, x)))
        return {"d": image(low if v["is_min"] else high)}

    return run


def float_compared(name, a, b):
    if name in ("NUM", "NAN"):
        return (math.isnan(a) or math.isnan(b)) == (name == "NAN")
    if math.isnan(a) or math.isnan(b):
        return name.endswith("U")
    return COMPARED[name[:2]](a, b)


def extreme(mods, v):
    a, b = f64(v["a"]), f64(v["b"])
    better = min if mods[0] == "MIN" else max
    first = better((a, b), key=lambda x: (x, math.copysign(1, x)))
    is_first = not math.isnan(a) and (math.isnan(b) or bits64(first) == v["a"])
    return {"p": int(is_first and v["c"]), "q": int(math.isnan(a) and math.isnan(b) and v["c"])}


def fsetp(single):
    def run(mods, v):
        if mods[0] in ("MIN", "MAX"):
            return extreme(mods, v)
        read = f32 if single else f64
        a, b = read(v.get("a", v.get("x"))), read(v.get("b", v.get("y")))
        if "FTZ" in mods:
            a, b = flushed(a), flushed(b)
        return combined(float_compared(mods[0], a, b), mods, v)

    return run


def fset(mods, v):
    name = next(m for m in mods if m not in ("BF", *JOINED))
    logic = next(JOINED[m] for m in mods if m in JOINED)
    result = logic(int(float_compared(name, f32(v["a"]), f32(v["b"]))), v["c"])
    return {"d": (bits32(1.0) if "BF" in mods else M32) if result else 0}


def fsel(mods, v):
    x = f32(v["a"] if v["c"] else v["b"])
    if math.isnan(x):
        return {"d": bits32(x)}
    return {"d": bits32(flushed(x) if "FTZ" in mods else x)}


def whole(x, mods):
    if not math.isfinite(x):
        return x
    way = {"TRUNC": math.trunc, "FLOOR": math.floor, "CEIL": math.ceil}
    name = next((m for m in mods if m in way), None)
    return way[name](x) if name else round(x)


def f2i(mods, v):
    x = f64(v["a"]) if "F64" in mods else f32(v["a"])
    x = flushed(x) if "FTZ" in mods else x
    type_ = integer_of(mods)
    n = int(type_[1:])
    low, high = (0, (1 << n) - 1) if type_[0] == "U" else (-(1 << n - 1), (1 << n - 1) - 1)
    x = whole(x, mods)
    if math.isnan(x):  # as an H200 has it
        return {"d": 1 << (n - 1) if "F64" in mods or n == 64 else 0}
    return {"d": int(min(max(x, low), high)) & ((1 << n) - 1)}


def frnd(mods, v):
    x, image = (f64(v["a"]), bits64) if "F64" in mods else (f32(v["a"]), bits32)
    result = whole(x, mods)
    return {"d": image(math.copysign(result, x) if math.isfinite(x) else x)}


def i2f(mods, v):
    type_ = integer_of(mods)
    n = int(type_[1:])
    a = v["a"] & ((1 << n) - 1)
    a -= (1 << n) if type_[0] == "S" and a >> (n - 1) else 0
    mode = next((m for m in mods if m in ("RM", "RP", "RZ")), "RN")
    if "F16" in mods:
        return {"d": half_bits(a)}
    if a == 0:
        return {"d": 0}
    if "F64" in mods:
        return {"d": bits64(rounded(Fraction(a), mode, single=False))}
    return {"d": bits32(rounded(Fraction(a), mode, single=True))}


def half_bits(x):
    if isinstance(x, float) and math.isnan(x):
        return 0x7FFF
    return int(np.float16(np.float64(x)).view(np.uint16))


def f2f(mods, v):
    if mods[:2] == ["F64", "F32"]:
        return {"d": bits64(np.float64(np.float32(f32(v["a"]))))}
    if mods[0] == "F16":
        return {"d": half_bits(f32(v["a"]))}
    x = f64(v["a"])
    mode = next((m for m in mods if m in ("RM", "RP", "RZ")), "RN")
    if not math.isfinite(x) or x == 0:
        return {"d": bits32(x)}
    return {"d": bits32(rounded(Fraction(x), mode, single=True))}


def eight_bits(name, x):
    """Return the code nearest to a number, the even one of two, or that of the largest number."""
    mantissa, bias, most = {"E4M3": (3, 7, 0x7E), "E5M2": (2, 15, 0x7B)}[name]
    if math.isnan(x):
        return 0x7F
    values = [of_eight(code, mantissa, bias) for code in range(most + 1)]
    far = [abs(value - abs(x)) for value in values]
    code = most if abs(x) > values[-1] else min(range(most + 1), key=lambda k: (far[k], k & 1))
    return code | (math.copysign(1, x) < 0) << 7


def of_eight(code, mantissa, bias):
    exponent, rest = code >> mantissa & 0x7F >> mantissa, code & ((1 << mantissa) - 1)
    whole = rest + (1 << mantissa if exponent else 0)
    return whole * 2.0 ** (max(exponent, 1) - bias - mantissa)


def unpacked(a):
    if a & 0x7F == 0x7F:
        return 0x7FFF
    return half_bits(math.copysign(of_eight(a & 0x7F, 3, 7), -1.0 if a & 0x80 else 1.0))


def f2fp(mods, v):
    if "SATFINITE" in mods:
        return {"d": eight_bits(mods[1], f32(v["low"])) | eight_bits(mods[1], f32(v["high"])) << 8}
    if "UNPACK_B" in mods:
        return {"d": unpacked(v["a"]) | unpacked(v["a"] >> 8) << 16}
    if "BF16" not in mods:
        return {"d": half_bits(f32(v["low"])) | half_bits(f32(v["high"])) << 16}

    def brain(a):
        return 0x7FFF if math.isnan(f32(a)) else (a + 0x7FFF + (a >> 16 & 1)) >> 16

    return {"d": brain(v["low"]) | brain(v["high"]) << 16}


def bytes_of(a, *, signed=False):
    return [(b ^ 128) - 128 if signed else b for b in a.to_bytes(4, "little")]


def byte_products(mods, v):
    left, right = (bytes_of(v[x], signed=m == "S8") for x, m in zip("ab", mods[1:], strict=True))
    return {"d": (sum(x * y for x, y in zip(left, right, strict=True)) + v["c"]) & M32}


def byte_differences(mods, v):
    far = [abs(x - y) for x, y in zip(bytes_of(v["a"]), bytes_of(v["b"]), strict=True)]
    if "ACC" in mods:
        return {"d": (sum(far) + v["c"]) & M32}
    return {"d": int.from_bytes(bytes(far), "little")}


def minmax_of_three(mods, v):
    return minmax(mods, v | {"a": minmax(mods, v)["d"], "b": v["c"]})


def brain_bits(x):
    """Return the bits of the nearest number of bfloat16, the even one of two, of a fraction."""
    size = abs(x)
    exponent = -126
    if size >= 2.0**-126:
        exponent = math.frexp(float(size))[1] - 1
        exponent -= size < 2.0**exponent  # the float may have been rounded up
    last = Fraction(2) ** (exponent - 7)
    nearest = round(size / last) * last
    image = 0x7F80 if nearest >= 2**128 else bits32(float(nearest)) >> 16
    return image | (x < 0) << 15


def fused_brains(a, b, c):
    """Return a * b + c in bfloat16, rounded once; operands and result are bits."""
    x, y, z = (f32(k << 16) for k in (a, b, c))
    if not all(map(math.isfinite, (x, y, z))):
        total = x * y + z
        return 0x7FFF if math.isnan(total) else bits32(total) >> 16
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    both_negative = math.copysign(1, x * y) < 0 and math.copysign(1, z) < 0
    return brain_bits(exact) if exact else both_negative << 15


def smaller_brain(a, b, *, is_min):
    value = fmnmx(single=True)([], {"a": a << 16, "b": b << 16, "is_min": is_min})["d"]
    return 0x7FFF if math.isnan(f32(value)) else value >> 16


def brains(name):
    """Two numbers of bfloat16 at once."""

    def run(_mods, v):
        if "high" in v:
            pair = v["low"] | v["high"] << 16
            v = v | {"c" if "b" in v else "b": pair}
        d = 0
        for k in (0, 16):
            a, b, c, x, y = (v.get(operand, 0) >> k & 0xFFFF for operand in "abcxy")
            if name == "HMNMX2":
                d |= smaller_brain(x, y, is_min=v["is_min"]) << k
            elif name == "HADD2":
                d |= fused_brains(a, 0x3F80, b) << k
            else:
                d |= fused_brains(a, b, 0x8000 if name == "HMUL2" else c) << k
        return {"d": d}

    return run


MODELS = {
    **{name: brains(name) for name in ("HADD2", "HMUL2", "HFMA2", "HMNMX2")},
    "IDP": byte_products, "VABSDIFF4": byte_differences, "VIMNMX3": minmax_of_three,
    "MOV": lambda m, v: {"d": v["a"]},
    "IMAD": imad, "IADD3": iadd3, "VIADD": lambda m, v: {"d": (v["a"] + v["b"]) & M32},
    "IABS": lambda m, v: {"d": abs(s32(v["a"]))},
    "LOP3": lop3, "PLOP3": plop3, "ISETP": isetp, "IMNMX": minmax, "VIMNMX": minmax,
    "VIADDMNMX": addminmax, "LEA": lea, "SHF": shf, "PRMT": prmt, "FLO": flo, "BMSK": bmsk,
    "SGXT": sgxt, "P2R": p2r, "R2P": r2p,
    "SEL": lambda m, v: {"d": v["a"] if v["c"] else v["b"]},
    "BREV": lambda m, v: {"d": int(f"{v['a']:032b}"[::-1], 2)},
    "POPC": lambda m, v: {"d": v["a"].bit_count()},
    "VABSDIFF": lambda m, v: {"d": (abs(v["a"] - v["b"] if "U32" in m else s32(v["a"])
                                         - s32(v["b"])) + v["c"]) & M32},
    "FADD": arithmetic("ADD", True), "FMUL": arithmetic("MUL", True),
    "FFMA": arithmetic("FMA", True), "DADD": arithmetic("ADD", False),
    "DMUL": arithmetic("MUL", False), "DFMA": arithmetic("FMA", False),
    "FMNMX": fmnmx(True), "DMNMX": fmnmx(False), "FSETP": fsetp(True), "DSETP": fsetp(False),
    "FSET": fset, "FSEL": fsel, "F2I": f2i, "FRND": frnd, "I2F": i2f, "I2FP": i2f, "F2F": f2f,
    "F2FP": f2fp,
}  # fmt: skip
