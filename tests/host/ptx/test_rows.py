"""Each row of PTX's arithmetic, translated and run on edges and at random, against a model that is
written from the PTX ISA; and with an error in each row, which has to show."""

import ctypes
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tree_sitter_cuda")
from tests.host.ptx import cases
from tests.host.ptx.models import INTEGERS, NAN, REAL, expected, real, width

from kernelwright.dialects.amdgpu import find_clang
from kernelwright.dialects.simt import machine
from kernelwright.hipify.ptx import function, rows
from kernelwright.hipify.ptx.program import translate_ptx

pytestmark = cases.MARKS
APPROXIMATE = re.compile(r"\.approx|\.full")
EDGES = (0, 1, 2, 3, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 0x8000, 0xFFFF, 0x7FFFFFFF,
         0x80000000, 0xFFFFFFFF, 0x3F800000, 0xBF000000, 0x7F800000, 0xFF800000, 0x7FC00000,
         0x80000001, 0x7F7FFFFF, 0x007FFFFF, 0x00800000, 0x4B800001, 0x4F000000, 0xCF000000,
         0x3C003C00, 0x7C00FC00, 0x7E000001, 0x3F803F80, 0x477FF000)  # fmt: skip
DOUBLES = (0.0, -0.0, 1.0, -1.5, 0.1, 5e-324, -1e-310, 1e308, -1e308, 1e-200, np.inf, -np.inf,
           np.nan, 2.0**31, -(2.0**63), 2.0**64)  # fmt: skip
N_VECTORS, N_WORDS = 120, 16
IMMEDIATES = {"table": 0xCA, "b": 9}
PARTS = {"f16x2": "b32", "bf16x2": "b32", "m32": "b32", "m64": "b64", "f16": "b16", "bf16": "b16"}


def probes():
    """(entry, opcode, row) of the pure rows that are no approximations."""
    found, seen = [], set()
    for entry in {id(e): e for listed in rows.entries().values() for e in listed}.values():
        if not entry.is_pure or APPROXIMATE.search(entry.ptx) or "shared" in entry.ptx:
            continue
        for keys in cases.keys_of(entry):
            for is_full in (False, True):
                opcode = cases.opcode(entry, keys, is_full)
                row = entry.row(keys)
                if (opcode, str(row.slots)) not in seen:
                    seen.add((opcode, str(row.slots)))
                    found.append((entry, opcode, row))
    return found


def register(kind):
    """The PTX type of the register that holds a kind."""
    plain = PARTS.get(kind, kind)
    if plain in ("f32", "f64", "pred"):
        return plain
    return f"b{max(int(plain.lstrip('usb')), 16)}"


def ptx_of(number, opcode, row):
    """A kernel that executes one instruction, and where its operands lie."""
    lines, operands, inputs = [], [], {}
    place = 0

    def read(name, kind):
        nonlocal place
        at, place = place, place + 1
        held = register(kind)
        inputs[name] = (at, kind)
        if held == "pred":
            lines.append(
                f".reg .pred %{name}; .reg .b32 %{name}w; "
                f"ld.global.u32 %{name}w, [%in+{8 * at}]; "
                f"and.b32 %{name}w, %{name}w, 1; setp.ne.u32 %{name}, %{name}w, 0;"
            )
        else:
            lines.append(f".reg .{held} %{name}; ld.global.{held} %{name}, [%in+{8 * at}];")
        return f"%{name}"

    for slot in row.slots:
        if slot.is_result:
            continue
        vector = re.fullmatch(r"v(\d)\.(\w+)", slot.kind)
        if slot.kind.startswith("imm:"):
            inputs[slot.name] = (None, IMMEDIATES[slot.name])
            operands.append(str(IMMEDIATES[slot.name]))
        elif vector:
            names = [read(f"{slot.name}{k}", vector[2]) for k in range(int(vector[1]))]
            operands.append("{" + ", ".join(names) + "}")
        else:
            operands.append(read(slot.name, slot.kind.removeprefix("f32.")))
    result, store = _result(row)
    flag = "addc.u32 %carry, 0, 0; st.global.u32 [%out+32], %carry;" if "carry" in row.c else ""
    set_flag = "add.cc.u32 %carry, %flag, 4294967295;" if flag else ""
    body = "\n".join(lines)
    return (
        f".visible .entry probe_{number}(.param .u64 a_in, .param .u64 a_out)\n{{\n"
        ".reg .b64 %in; .reg .b64 %out; .reg .b32 %carry; .reg .b32 %flag;\n"
        "ld.param.u64 %in, [a_in]; ld.param.u64 %out, [a_out];\n"
        f"ld.global.u32 %flag, [%in+120]; and.b32 %flag, %flag, 1;\n{body}\n{set_flag}\n"
        f"{result[0]}\n{opcode} {', '.join([result[1], *operands])};\n{flag}\n{store}\nret;\n}}\n",
        inputs,
    )


def _result(row):
    """Declarations and the text of the result, and its stores."""
    slot = row.slots[0]
    vector = re.fullmatch(r"v(\d)\.(\w+)", slot.kind)
    if vector:
        held, n = register(vector[2]), int(vector[1])
        names = [f"%d{k}" for k in range(n)]
        store = " ".join(
            f"st.global.{held} [%out+{8 * k}], {name};" for k, name in enumerate(names)
        )
        return (f".reg .{held} {', '.join(names)};", "{" + ", ".join(names) + "}"), store
    held = register(slot.kind)
    if held != "pred":
        return (f".reg .{held} %d;", "%d"), f"st.global.{held} [%out], %d;"
    word = ".reg .b32 %dw; .reg .b32 %qw;"
    store = "selp.u32 %dw, 1, 0, %d; st.global.u32 [%out], %dw;"
    if row.second is None:
        return (f".reg .pred %d; {word}", "%d"), store
    store += " selp.u32 %qw, 1, 0, %q; st.global.u32 [%out+8], %qw;"
    return (f".reg .pred %d; .reg .pred %q; {word}", "%d|%q"), store


def compiled(text, folder, name):
    """Return a function (number, vectors) → results of the probes of a PTX text."""
    translated = translate_ptx(text)
    assert not translated.unported, [str(f) for f in translated.unported[:5]]
    source, library = folder / f"{name}.cpp", folder / f"{name}.so"
    lowered = machine.lower(translated.text)
    source.write_text(f'#include "hip/hip_runtime.h"\n{lowered}')
    flags = [f for f in machine.DEVICE_FLAGS if f != "-fno-pie"]
    machine.compile_with(
        str(find_clang()), "-std=c++17", *flags, "-shared", "-fPIC", f"-I{machine.HEADERS}",
        "-Wl,--unresolved-symbols=ignore-all", str(source), "-o", str(library), "-lm",
    )  # fmt: skip
    loaded = ctypes.CDLL(str(library), mode=1)

    def run(number, vectors):
        call = getattr(loaded, f"probe_{number}")
        call.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        out = np.zeros((len(vectors), 8), np.uint64)
        for given, result in zip(vectors, out, strict=True):
            call(given.ctypes.data, result.ctypes.data)
        return out

    return run


@pytest.fixture(scope="module")
def vectors():
    draw = np.random.default_rng(11)
    shape = (N_VECTORS, 2 * N_WORDS)
    words = draw.integers(0, 1 << 32, shape, dtype=np.uint32)
    edges = draw.choice(np.array(EDGES, np.uint32), shape)
    near = draw.normal(0, 50, shape).astype(np.float32).view(np.uint32)
    small = draw.integers(0, 40, shape)
    found = np.choose(draw.integers(0, 5, shape), (words, near, small, edges, edges))
    found = np.ascontiguousarray(found.astype(np.uint32)).view(np.uint64)
    wide = draw.integers(0, 3, found.shape)
    doubles = draw.normal(0, 50, found.shape).view(np.uint64)
    extreme = draw.choice(np.array(DOUBLES), found.shape)
    return np.ascontiguousarray(np.choose(wide, (found, doubles, extreme.view(np.uint64))))


def values(inputs, vector):
    found = {"carry": int(vector[15]) & 1}
    for name, (at, kind) in inputs.items():
        if at is None:
            found[name] = kind
        elif kind == "pred":
            found[name] = int(vector[at]) & 1
        else:
            held = PARTS.get(kind, kind)
            bits = sum(REAL[held]) if held in REAL else int(held.lstrip("usb"))
            found[name] = int(vector[at]) & ((1 << bits) - 1)
    return found


def wanted(opcode, row, inputs, vector):
    """The bits of each result in the words that a probe writes: [(word, bits, kind)]."""
    found = expected(opcode, values(inputs, vector))
    slot = row.slots[0]
    if isinstance(found, tuple) and opcode.rpartition(".")[2] in ("f16x2", "bf16x2"):
        return [(0, found, opcode.rpartition(".")[2])]
    if isinstance(found, tuple) and slot.kind in ("f16x2", "bf16x2"):
        return [(0, found, slot.kind)]
    if isinstance(found, tuple):  # a carry
        return [(0, found[0], slot.kind), (4, found[1], "u32")]
    vector_of = re.fullmatch(r"v(\d)\.(\w+)", slot.kind)
    if vector_of:
        bits = width(vector_of[2])
        return [
            (k, found >> bits * k & ((1 << bits) - 1), vector_of[2])
            for k in range(int(vector_of[1]))
        ]
    both = [(0, found, slot.kind)]
    return [*both, (1, 1 - found, "pred")] if row.second is not None else both


def agrees(kind, bits, seen):
    if kind in ("f16x2", "bf16x2"):
        parts = [(seen >> k & 0xFFFF) for k in (0, 16)]
        return all(agrees(kind[:-2], b, s) for b, s in zip(bits, parts, strict=True))
    if kind in REAL:
        seen &= (1 << sum(REAL[kind])) - 1
        return real(seen, kind) == NAN if bits == NAN or real(bits, kind) == NAN else seen == bits
    if kind in ("pred", "m32"):
        return seen & 0xFFFFFFFF == bits
    size = INTEGERS.get(kind.lstrip("usbm"), 32)
    return seen & ((1 << size) - 1) == bits & ((1 << size) - 1)


def faults(run, number, opcode, row, inputs, vectors):
    """The vectors for which a probe computes something else than its model."""
    out = run(number, vectors)
    for vector, result in zip(vectors, out, strict=True):
        try:
            listed = wanted(opcode, row, inputs, vector)
        except ZeroDivisionError:
            continue
        for word, bits, kind in listed:
            if not agrees(kind, bits, int(result[word])):
                yield values(inputs, vector), bits, int(result[word])


def usable(opcode, vectors):
    """Without what a CPU traps: division by zero, and of the least number by -1."""
    if not opcode.startswith(("div.", "rem.")) or opcode.rpartition(".")[2] in REAL:
        return vectors
    odd = vectors.copy()
    odd[:, 1] |= np.uint64(1)
    bits = width(opcode.rpartition(".")[2])
    mask = np.uint64((1 << bits) - 1)
    odd[:, 1] = np.where(odd[:, 1] & mask == mask, np.uint64(3), odd[:, 1])
    return odd


def test_every_row_of_arithmetic_computes_what_the_isa_says(tmp_path, vectors):
    texts, work = [], []
    for entry, opcode, row in probes():
        text, inputs = ptx_of(len(texts), opcode, row)
        texts.append(text)
        work.append((entry, opcode, row, inputs))
    run = compiled(cases.HEAD + "".join(texts), tmp_path, "rows")
    wrong = []
    for number, (_, opcode, row, inputs) in enumerate(work):
        first = next(faults(run, number, opcode, row, inputs, usable(opcode, vectors)), None)
        if first is not None:
            given, bits, seen = first
            said = {k: hex(v) for k, v in given.items()}
            wrong.append(f"{opcode} {said}: {seen:#x}, not {bits}")
    assert not wrong, "\n".join(wrong[:60])
    assert len(work) > 500


MUTATIONS = [(" + ", " - "), (" - ", " + "), (" * ", " + "), (" << ", " >> "), (" >> ", " << "),
             (" == ", " != "), (" != ", " == "), (" <= ", " > "), (" >= ", " < "), (" < ", " >= "),
             (" > ", " <= "), (" && ", " || "), (" || ", " && "), (" & ", " | "), (" | ", " & "),
             (" ^ ", " | "), ("~$", "$"), ("lesser", "greater"), ("greater", "lesser"),
             ("toward_zero", "up"), ("ptx_down", "ptx_up"), ("ptx_up)", "ptx_down)"),
             ("rint", "floor"), ("trunc", "ceil"), ("floor", "ceil"), ("ceil", "floor"),
             ("$b, $a", "$a, $b"), ("$a, $b", "$b, $a")]  # fmt: skip


def mutants(row):
    """A row with one error each: another operator or function, or the operands exchanged."""
    for old, new in MUTATIONS:
        if old in row.c and not (old == "$a, $b" and _is_symmetric(row)):
            yield replace(row, c=row.c.replace(old, new, 1))


def _is_symmetric(row):
    names = ("lesser", "greater", "mul", "high", "low", "add", "sum", "product", "fma", "fused",
             "dot4<u32, u32", "dot4<s32, s32", "lop3", "vabsdiff", "vsad")  # fmt: skip
    return any(name in row.c for name in names)


def negated(row):
    """A row without operators of its own whose result is another one."""
    if row.slots[0].kind == "pred":
        return replace(row, c=f"!({row.c})")
    if row.slots[0].kind in ("f32", "f64"):
        return replace(row, c=f"-({row.c}) + 1")
    return replace(row, c=f"({row.c}) ^ 1")


def test_an_error_in_any_row_shows(tmp_path, vectors, monkeypatch):
    """For each row of the tables the last of its instructions, with each error in turn."""
    texts, work, changed = [], [], {}
    done = set()
    for entry, opcode, row in reversed(probes()):
        if (entry.ptx, entry.form) in done:
            continue
        done.add((entry.ptx, entry.form))
        kinds = row.slots[0].kind
        can_negate = kinds in ("pred", "f32", "f64") or kinds[0] in "usm"
        wrong = list(mutants(row)) or ([negated(row)] if can_negate else [])
        for k, mutant in enumerate(wrong):
            name = f"mutant{len(texts)}.{k}"
            text, inputs = ptx_of(len(texts), name, row)
            changed[name] = (mutant,)
            texts.append(text)
            work.append((entry, opcode, row, inputs, mutant.c))
    known = function.rows_of
    monkeypatch.setattr(function, "rows_of", lambda name: changed.get(name) or known(name))
    run = compiled(cases.HEAD + "".join(texts), tmp_path, "mutants")
    unseen = [
        f"{opcode}: {c}"
        for number, (_, opcode, row, inputs, c) in enumerate(work)
        if next(faults(run, number, opcode, row, inputs, usable(opcode, vectors)), None) is None
    ]
    assert not unseen, "\n".join(unseen)
