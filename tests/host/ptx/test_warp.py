"""Each row of PTX that threads of a warp execute together, run at 32 and 64 lanes against models
written from the PTX ISA; and with an error in each row, which has to show."""

import random
import re
from dataclasses import replace

import pytest

pytest.importorskip("tree_sitter_cuda")
from tests.host.ptx import cases
from tests.host.ptx.models import as_float, real, signed

from kernelwright.dialects.simt import machine
from kernelwright.hipify.ptx import function, instructions, rows
from kernelwright.hipify.ptx.program import translate_ptx

pytestmark = cases.MARKS
N_THREADS, N_WORDS = 96, 12
"""Three warps: of mixed operands, of ones, and of zeros."""
BASES = ("shfl", "vote", "match", "redux", "activemask", "elect", "bar", "barrier", "mma",
         "ldmatrix", "stmatrix")  # fmt: skip
CONTROLS = (0x1F, 0x181F, 0x1C03, 0x0)
"""Operand c of shuffles: one segment, segments of 8, of 4 clamped, and upward."""


def words():
    """N_WORDS operands of each thread."""
    draw = random.Random(5)
    halves = (0x3C00, 0x4000, 0xBC00, 0x0000, 0x3800, 0xC400)
    mixed = [[draw.randrange(4), draw.randrange(32), draw.randrange(1 << 32)]
             + [draw.choice(halves) | draw.choice(halves) << 16 for _ in range(9)]
             for _ in range(32)]  # fmt: skip
    for lane, row in enumerate(mixed):
        row[2] = row[2] if lane % 3 else mixed[0][2]
    ones = [[1, 1, 1] + [0x3C003C00] * 9 for _ in range(32)]
    return [*mixed, *ones, *([0] * N_WORDS for _ in range(32))]


WORDS = words()
ARRAYS = re.compile(r"a(\d)\.(\w+)")


HELD = {"pred": "pred", "f32": "f32", "u64": "b64"}
TILE = """{.reg .b32 %sm; mov.u32 %sm, tile; mad.lo.u32 %row, %lane, 16, %sm;
ld.global.u32 %i, [%in+4]; st.shared.u32 [%row], %i;
ld.global.u32 %i, [%in+8]; st.shared.u32 [%row+4], %i;
ld.global.u32 %i, [%in+12]; st.shared.u32 [%row+8], %i;
ld.global.u32 %i, [%in+16]; st.shared.u32 [%row+12], %i; bar.sync 0; }"""
"""Words 1 to 4 of each thread, as a row of 16 bytes in shared memory."""


def result_of(row, names, held):
    """Stores of a result."""
    if held == "pred":
        return [f"selp.u32 %i, 1, 0, {names[0]}; st.global.u32 [%out], %i;"]
    return [f"st.global.{held} [%out+{4 * k}], {name};" for k, name in enumerate(names)]


def operand(slot, row, names, held, place):
    """Instructions that read an operand; an array begins at word ``place`` of the thread."""
    if held == "pred":
        return [f"ld.global.u32 %i, [%in]; and.b32 %i, %i, 1; setp.ne.u32 {names[0]}, %i, 0;"]
    if ARRAYS.fullmatch(slot.kind):
        places = [(place + k) % N_WORDS for k in range(len(names))]
        return [f"ld.global.{held} {n}, [%in+{4 * p}];" for n, p in zip(names, places, strict=True)]
    at = {"b": 4, "a": 0 if "match" in row.ptx else 8}.get(slot.name, 0)
    return [f"ld.global.{held} {names[0]}, [%in+{at}];"]


def kernel(number, opcode, row, control):
    lines, operands, stores, place = [], [], [], 3
    fixed = {"shared": "[%row]", "imm:0": "0"}
    for slot in row.slots:
        array = ARRAYS.fullmatch(slot.kind)
        kind, n = (array[2], int(array[1])) if array else (slot.kind, 1)
        if slot.kind in fixed or slot.name == "mask":
            operands.append(fixed.get(slot.kind, "0xffffffff"))
            continue
        held = HELD.get(kind, "b32")
        names = [f"%{slot.name}{k}" for k in range(n)]
        lines.append(f".reg .{held} {', '.join(names)};")
        text = "{" + ", ".join(names) + "}" if array else names[0]
        if slot.is_result:
            stores += result_of(row, names, held)
            if row.second is not None:
                lines.append(".reg .pred %second;")
                text += "|%second"
                stores.append("selp.u32 %i, 1, 0, %second; st.global.u32 [%out+16], %i;")
        elif slot.name == "c" and not array:
            lines.append(f"mov.u32 {names[0]}, {control};")
        else:
            lines += operand(slot, row, names, held, place)
            place += n if array else 0
        operands.append(text)
    if any(slot.kind == "shared" for slot in row.slots):
        lines.append(TILE)
        if row.result is None:
            stores.append("bar.sync 0;")
            stores += [f"ld.shared.u32 %i, [%row+{4 * k}]; st.global.u32 [%out+{4 * k}], %i;"
                       for k in range(4)]  # fmt: skip
    body, after = "\n".join(lines), "\n".join(stores)
    return (
        f".visible .entry probe_{number}(.param .u64 a, .param .u64 b)\n{{\n"
        ".shared .align 16 .b8 tile[1536];\n.reg .b64 %in, %out, %at; .reg .b32 %lane, %row, %i;\n"
        "ld.param.u64 %in, [a]; ld.param.u64 %out, [b]; mov.u32 %lane, %tid.x;\n"
        f"mul.wide.u32 %at, %lane, {4 * N_WORDS}; add.u64 %in, %in, %at;\n"
        f"mul.wide.u32 %at, %lane, 32; add.u64 %out, %out, %at;\n{body}\n"
        f"{opcode} {', '.join(operands)};\n{after}\nret;\n}}\n"
    )


def run_probes(kernels, folder):
    """Return, by width, for each kernel the 8 words that each thread left."""
    translated = translate_ptx(cases.HEAD + "".join(kernels))
    assert not translated.unported, [str(f) for f in translated.unported[:5]]
    listed = ", ".join(f"{word}u" for row in WORDS for word in row)
    launches = "".join(
        f"hipMemset(out, 0, {32 * N_THREADS}); probe_{k}<<<1, {N_THREADS}>>>((u64)in, (u64)out);"
        f" show(out);\n"
        for k in range(len(kernels))
    )
    main = f"""
#include <cstdio>
void show(const unsigned* out) {{
  for (int k = 0; k < {8 * N_THREADS}; ++k) printf("%08x", out[k]);
  puts("");
}}
int main() {{
  static const unsigned words[] = {{{listed}}};
  unsigned *in, *out;
  hipMalloc(&in, sizeof words), hipMalloc(&out, {32 * N_THREADS});
  hipMemcpy(in, words, sizeof words, hipMemcpyHostToDevice);
  {launches}
}}
"""
    program = machine.build(translated.text + main, folder=folder, is_checked=False)
    found = {}
    for width in machine.WIDTHS:
        done = machine.run(program, width=width, how=machine.Running(limit_s=200))
        assert done.exit_code == 0, done.errors
        found[width] = [
            [[int(line[64 * t + 8 * k : 64 * t + 8 * k + 8], 16) for k in range(8)]
             for t in range(N_THREADS)]
            for line in done.output.split()
        ]  # fmt: skip
    return found


def wanted(opcode, row, control):
    """The words that each thread leaves: {word: value}."""
    found = []
    for warp in range(3):
        rows_ = WORDS[32 * warp : 32 * warp + 32]
        found += warp_of(opcode, row, control, rows_)
    return found


def warp_of(opcode, row, control, given):
    base, *mods = opcode.split(".")
    a = [r[2] for r in given]
    bits = [r[0] & 1 for r in given]
    if base == "shfl":
        return [shuffled(mods[1], lane, a, given[lane][1], control) for lane in range(32)]
    if base == "vote":
        values = {"all": all(bits), "any": any(bits), "uni": len(set(bits)) == 1}
        ballot = sum(bit << k for k, bit in enumerate(bits))
        return [{0: ballot if mods[1] == "ballot" else int(values[mods[1]])}] * 32
    if base == "match":
        keys = [(r[0], r[1]) if mods[-1] == "b64" else r[0] for r in given]
        if mods[0] == "any":
            return [{0: sum((k == key) << n for n, k in enumerate(keys))} for key in keys]
        same = len(set(keys)) == 1
        return [{0: 0xFFFFFFFF if same else 0, 4: int(same)}] * 32
    if base == "redux":
        return [{0: reduced(mods, a)}] * 32
    if base == "activemask":
        return [{0: 0xFFFFFFFF}] * 32
    if base == "elect":
        return [{0: 0, 4: int(lane == 0)} for lane in range(32)]
    if base in ("bar", "barrier"):
        every = [r[0] & 1 for r in WORDS]
        value = {"and": int(all(every)), "or": int(any(every)), "popc": sum(every)}
        return [{0: next(v for op, v in value.items() if op in mods)} if "red" in mods else {}] * 32
    if base == "mma":
        return product(mods, row, given)
    return matrices(base, mods, row, given)


def shuffled(how, lane, a, b, c):
    b, clamp, mask = b & 31, c & 31, c >> 8 & 31
    most, least = (lane & mask) | (clamp & ~mask), lane & mask
    at = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | (b & ~mask)}[how]
    is_inside = at >= most if how == "up" else at <= most
    return {0: a[at if is_inside else lane], 4: int(is_inside)}


def reduced(mods, a):
    values = [signed(v, 32) for v in a] if mods[-1] == "s32" else a
    found = values[0]
    for v in values[1:]:
        found = {"add": found + v, "min": min(found, v), "max": max(found, v), "and": found & v,
                 "or": found | v, "xor": found ^ v}[mods[1]]  # fmt: skip
    return found & 0xFFFFFFFF


def element(word, kind, k):
    if kind in ("f16", "bf16"):
        value = real(word >> 16 * k & 0xFFFF, kind)
        return 0 if isinstance(value, tuple) else value
    if kind == "tf32":
        value = real(word & 0xFFFFE000, "f32")
        return 0 if isinstance(value, tuple) else value
    byte = word >> 8 * k & 255
    return signed(byte, 8) if kind == "s8" else byte


def product(mods, row, given):
    """Fragments as PTX's figures have them."""
    shape, kind = mods[2], mods[6]
    k_all = int(shape.rpartition("k")[2])
    each = {"f16": 2, "bf16": 2, "tf32": 1}.get(kind, 4)
    n = {slot.name: int(slot.kind[1]) for slot in row.inputs}
    a, b, place = {}, {}, 3
    registers = {}
    for name in "abc":
        registers[name] = [(place + k) % N_WORDS for k in range(n[name])]
        place += n[name]
    for lane in range(32):
        group, thread = divmod(lane, 4)
        for r, at in enumerate(registers["a"]):
            for e in range(each):
                column = each * thread + (r >> 1) * 4 * each + e
                a[group + 8 * (r & 1), column] = element(given[lane][at], kind, e)
        for r, at in enumerate(registers["b"]):
            for e in range(each):
                b[each * thread + r * 4 * each + e, group] = element(given[lane][at], kind, e)
    found = []
    for lane in range(32):
        group, thread = divmod(lane, 4)
        words_ = {}
        for k, at in enumerate(registers["c"]):
            i, j = group + 8 * (k >> 1), 2 * thread + (k & 1)
            total = sum(a[i, m] * b[m, j] for m in range(k_all))
            if kind in ("s8", "u8"):
                words_[k] = (given[lane][at] + total) & 0xFFFFFFFF
            else:
                words_[k] = float(total) + as_float(given[lane][at])
        found.append(words_)
    return found


def matrices(base, mods, row, given):
    """Row r of matrix m lies in the 16 bytes of lane 8 m + r: its words 1 to 4."""
    n = int(mods[3][1]) if mods[3].startswith("x") else 1
    is_turned = "trans" in mods
    half = [[(lane[1 + k // 2] >> 16 * (k % 2)) & 0xFFFF for k in range(8)] for lane in given]
    if base == "ldmatrix":
        found = []
        for lane in range(32):
            group, thread = divmod(lane, 4)
            places = [(2 * thread, group), (2 * thread + 1, group)] if is_turned else [
                (group, 2 * thread), (group, 2 * thread + 1)]  # fmt: skip
            found.append({m: sum(half[8 * m + r][c] << 16 * k for k, (r, c) in enumerate(places))
                          for m in range(n)})  # fmt: skip
        return found
    for lane in range(32):
        group, thread = divmod(lane, 4)
        for m in range(n):
            word = given[lane][3 + m]
            for k in range(2):
                r, c = (2 * thread + k, group) if is_turned else (group, 2 * thread + k)
                half[8 * m + r][c] = word >> 16 * k & 0xFFFF
    return [{k: half[lane][2 * k] | half[lane][2 * k + 1] << 16 for k in range(4)}
            for lane in range(32)]  # fmt: skip


def differs(opcode, row, control, left):
    for thread, (seen, words_) in enumerate(zip(left, wanted(opcode, row, control), strict=True)):
        for k, value in words_.items():
            if k == 4 and row.second is None and "mma" not in opcode:
                continue
            is_same = (
                abs(as_float(seen[k]) - value) <= 1e-5 * max(1.0, abs(value))
                if isinstance(value, float)
                else seen[k] == value
            )
            if not is_same:
                return f"{opcode} (c = {control:#x}), thread {thread}: {seen}, not {words_}"
    return ""


def probes():
    found = []
    entries = {id(e): e for base in BASES for e in rows.entries().get(base, ())}.values()
    for entry in entries:
        if entry.ptx.startswith("bar.warp"):
            continue  # it has no result
        for keys in cases.keys_of(entry):
            opcode, row = cases.opcode(entry, keys, False), entry.row(keys)
            for control in CONTROLS if opcode.startswith("shfl") else (0,):
                found.append((entry, opcode, row, control))
    return found


def test_every_row_of_warps_does_what_the_isa_says(tmp_path):
    work = probes()
    left = run_probes([kernel(k, o, r, c) for k, (_, o, r, c) in enumerate(work)], tmp_path)
    wrong = [
        f"{width} lanes: {said}"
        for width, all_ in left.items()
        for (_, o, r, c), one in zip(work, all_, strict=True)
        if (said := differs(o, r, c, one))
    ]
    assert not wrong, "\n".join(wrong[:20])
    assert len(work) > 70


OTHERS = [("_lane_at", "_lane_below"), ("_lane_above", "_lane_below"), ("_lane_below", "_lane_at"),
          ("_lane_across", "_lane_at"), ("port_all", "port_any"), ("port_any", "port_all"),
          ("_add", "_max"), ("_min", "_max"), ("_max", "_min"), ("_and(", "_or("),
          ("_or(", "_and("),
          ("_xor", "_or"), ("_rows<", "_columns<"), ("_columns<", "_rows<"), ("_count", "_or"),
          ("$a, $b, $c", "$a, $b, {}"), ("ptx_elected", "1 + ptx_elected"),
          ("", "0 & ")]  # fmt: skip


def test_an_error_in_any_row_of_warps_shows(tmp_path, monkeypatch):
    texts, work, changed, done = [], [], {}, set()
    for entry, opcode, row, control in probes():
        if (entry.ptx, entry.form) in done or (
            "bar" in opcode.partition(".")[0] and "red" not in opcode
        ):
            continue
        done.add((entry.ptx, entry.form))
        old, new = next((o, n) for o, n in OTHERS if o in row.c)
        name = f"mutant{len(texts)}"
        changed[name] = (replace(row, c=row.c.replace(old, new, 1)),)
        texts.append(kernel(len(texts), name, row, control))
        work.append((opcode, row, control, changed[name][0].c))
    known = instructions.rows_of
    for module in (instructions, function):
        monkeypatch.setattr(module, "rows_of", lambda name: changed.get(name) or known(name))
    left = run_probes(texts, tmp_path)[32]
    unseen = [
        f"{o}: {mutant}"
        for (o, r, c, mutant), one in zip(work, left, strict=True)
        if not differs(o, r, c, one)
    ]
    assert not unseen, "\n".join(unseen)
