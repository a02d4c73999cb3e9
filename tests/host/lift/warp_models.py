"""What rows of memory and of warps do, in Python and from the mnemonic alone: the other opinion.

A model is given a mnemonic's modifiers, the lanes' operands (a list with one dictionary for each,
None for lanes that are not active), the mask of the last WARPSYNC and the memory at the address. It
returns what each lane's results are, by name, and the memory afterwards.
"""

import struct

import numpy as np

M32 = (1 << 32) - 1
SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def s32(a):
    return (a & M32) - ((a & 1 << 31) << 1)


def whole(data):
    return int.from_bytes(bytes(data), "little")


def load(mods, lanes, _mask, memory):
    size = next((n for word, n in SIZES.items() if word in mods), 4)
    d = whole(memory[:size])
    if any(m in ("S8", "S16") for m in mods) and d >> (8 * size - 1):
        d = (d - (1 << 8 * size)) & M32
    return [{"d": d} if lane is not None else None for lane in lanes], memory


def store(mods, lanes, _mask, memory):
    size = next((n for word, n in SIZES.items() if word in mods), 4)
    a = lanes[0]["a"] & ((1 << 8 * size) - 1)
    return [{}], a.to_bytes(size, "little") + memory[size:]


OPERATIONS = {
    "ADD": lambda old, a: old + a, "AND": lambda old, a: old & a, "OR": lambda old, a: old | a,
    "XOR": lambda old, a: old ^ a, "EXCH": lambda old, a: a, "MIN": min, "MAX": max,
    "INC": lambda old, a: 0 if old >= a else old + 1,
    "DEC": lambda old, a: a if old == 0 or old > a else old - 1,
}  # fmt: skip


def atomic(mods, lanes, _mask, memory):
    lane = lanes[0]
    if "CAS" in mods or "CAST" in mods:
        size = 8 if "64" in mods else 4
        old = whole(memory[:size])
        is_same = old == lane["expected"]
        new = lane["a"] if is_same else old
        told = {"d": int(is_same), "p": int(is_same)} if "CAST" in mods else {"d": old, "p": 1}
        return [told], new.to_bytes(size, "little") + memory[size:]
    if "POPC" in mods:
        return [{"d": whole(memory[:4])}], _put(memory, 4, whole(memory[:4]) + 1)
    for word, form in (("F32", "<f"), ("F64", "<d")):
        if word in mods:
            size = struct.calcsize(form)
            (old,) = struct.unpack(form, bytes(memory[:size]))
            (a,) = struct.unpack(form, lane["a"].to_bytes(size, "little"))
            with np.errstate(all="ignore"):
                kind = np.float32 if size == 4 else np.float64
                new = struct.pack(form, float(kind(old) + kind(a)))
            return [{"d": whole(memory[:size]), "p": 1}], new + memory[size:]
    size = 8 if "64" in mods else 4
    name = next(m for m in mods if m in OPERATIONS)
    old, a = whole(memory[:size]), lane["a"]
    signed = s32 if "S32" in mods else int
    new = OPERATIONS[name](signed(old), signed(a))
    return [{"d": old, "p": 1}], _put(memory, size, new)


def _put(memory, size, value):
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little") + memory[size:]


def constant(mods, lanes, mask, memory):
    """LDC and ULDC of a place that is known give their operand."""
    if "a" in lanes[0]:
        return [{"d": lanes[0]["a"]}], memory
    return load(mods, lanes, mask, memory)


def shuffle(mods, lanes, _mask, memory):
    """Source: the PTX ISA, shfl.sync."""
    found = []
    for at, lane in enumerate(lanes):
        if lane is None:
            found.append(None)
            continue
        b, clamp, segment = lane["b"] & 31, lane["c"] & 31, lane["c"] >> 8 & 31
        last = (at & segment) | (clamp & ~segment)
        first = at & segment
        j = {"UP": at - b, "DOWN": at + b, "BFLY": at ^ b, "IDX": first | (b & ~segment)}[mods[0]]
        is_inside = j >= last if mods[0] == "UP" else j <= last
        j = j if is_inside else at
        value = lanes[j]["a"] if lanes[j % 32] is not None else lane["a"]
        found.append({"d": value, "p": int(is_inside)})
    return found, memory


def vote(mods, lanes, mask, memory):
    here = [k for k, lane in enumerate(lanes) if lane is not None and mask >> k & 1]
    said = [lanes[k]["a"] for k in here]
    d = sum(1 << k for k, a in zip(here, said, strict=True) if a)
    p = {"ANY": any(said), "ALL": all(said), "EQ": all(said) or not any(said)}[mods[0]]
    return [{"d": d, "p": int(p)} if lane is not None else None for lane in lanes], memory


def reduced(mods, lanes, mask, memory):
    values = [lane["a"] for k, lane in enumerate(lanes) if lane is not None and mask >> k & 1]
    signed = s32 if "S32" in mods else int
    join = {"SUM": "ADD"}.get(mods[0] if mods else "AND", mods[0] if mods else "AND")
    d = signed(values[0])
    for value in values[1:]:
        d = OPERATIONS[join](d, signed(value))
    return [{"d": d & M32} if lane is not None else None for lane in lanes], memory


def match(mods, lanes, mask, memory):
    here = {k: lane["a"] for k, lane in enumerate(lanes) if lane is not None and mask >> k & 1}
    if mods[0] == "ANY":
        same = [
            sum(1 << k for k, a in here.items() if lane is not None and a == lane["a"])
            for lane in lanes
        ]
        return [
            {"d": d} if lane is not None else None for lane, d in zip(lanes, same, strict=True)
        ], memory
    is_one = len(set(here.values())) == 1
    d = sum(1 << k for k in here) if is_one else 0
    return [{"d": d, "p": int(is_one)} if k in here else None for k in range(32)], memory


def uniform(_mods, lanes, _mask, memory):
    is_one = len({lane["a"] for lane in lanes if lane is not None}) == 1
    return [
        {"d": lane["a"], "p": int(is_one)} if lane is not None else None for lane in lanes
    ], memory


def special(_mods, lanes, _mask, memory, *, name):
    below = [(1 << k) - 1 for k in range(33)]
    axis = "XYZ".find(name[-1])
    return [
        None if lane is None else {
            "d": {
                "SR_EQMASK": 1 << k, "SR_LTMASK": below[k], "SR_LEMASK": below[k + 1],
                "SR_GTMASK": M32 & ~below[k + 1], "SR_GEMASK": M32 & ~below[k], "SR_LANEID": k,
                "SR_CgaCtaId": 0, "SR_CLOCKLO": 0x1234567890ABCDEF,
            }.get(name, (100 if "TID" in name and "CTA" not in name else 200) + axis)
        }
        for k, lane in enumerate(lanes)
    ], memory  # fmt: skip


def barrier_reduced(mods, lanes, _mask, memory):
    said = [lane["a"] for lane in lanes if lane is not None]
    value = {"AND": all(said), "OR": any(said), "POPC": sum(said)}[mods[1]]
    return [{"barrier_result": int(value)} if lane is not None else None for lane in lanes], memory


def matrix(mods, lanes, _mask, memory, *, single):
    """Source: the PTX ISA, mma.m16n8k16: the places of the elements in the lanes' registers."""
    a, b, c = np.zeros((16, 16)), np.zeros((16, 8)), np.zeros((16, 8))
    for lane, v in enumerate(lanes):
        row, column = lane // 4, lane % 4
        for i in range(4):
            word = v["c"] >> 32 * i & M32
            at = row + 8 * (i // 2), 2 * column + i % 2
            c[at] = struct.unpack("<f" if single else "<i", word.to_bytes(4, "little"))[0]
        if single:
            halves = np.frombuffer(v["a"].to_bytes(16, "little"), np.float16)
            for i, x in enumerate(halves):
                a[row + 8 * (i // 2 % 2), 2 * column + i % 2 + 8 * (i // 4)] = x
            for i, x in enumerate(np.frombuffer(v["b"].to_bytes(8, "little"), np.float16)):
                b[2 * column + i % 2 + 8 * (i // 2), row] = x
        else:
            for i, x in enumerate(np.frombuffer(v["a"].to_bytes(8, "little"), np.int8)):
                a[row + 8 * (i // 4), 4 * column + i % 4] = x
            for i, x in enumerate(np.frombuffer(v["b"].to_bytes(4, "little"), np.int8)):
                b[4 * column + i, row] = x
    d = a @ b + c
    found = []
    for lane in range(32):
        row, column = lane // 4, lane % 4
        words = [d[row + 8 * (i // 2), 2 * column + i % 2] for i in range(4)]
        data = b"".join(
            struct.pack("<f" if single else "<i", x if single else int(x)) for x in words
        )
        found.append({"d": whole(data)})
    return found, memory


MODELS = {
    "LD": load, "LDG": load, "LDS": load, "LDL": load, "LDC": constant, "ULDC": constant,
    "ST": store, "STG": store, "STS": store, "STL": store,
    "RED": atomic, "REDG": atomic, "ATOM": atomic, "ATOMG": atomic, "ATOMS": atomic,
    "SHFL": shuffle, "VOTE": vote, "VOTEU": vote, "REDUX": reduced, "MATCH": match,
    "R2UR": uniform,
}  # fmt: skip
EVENTS = {"MEMBAR": (1, 0, 0), "BAR": (0, 1, 0), "BPT": (0, 0, 1)}
"""Fences, barriers and traps of what has no result."""


def model(row):
    """Return the model of a row; None if it computes nothing."""
    base, *mods = row.sass.split(".")
    register = next((s.kind for s in row.slots if s.kind.startswith("SR_")), "")
    if register:
        return lambda *given: special(mods, *given, name=register)
    if row.sass.startswith("BAR.RED"):
        return lambda *given: barrier_reduced(mods, *given)
    if base in ("HMMA", "IMMA"):
        return lambda *given: matrix(mods, *given, single=base == "HMMA")
    known = MODELS.get(base)
    return known and (lambda *given: known(mods, *given))
