"""Each row of PTX's memory and warp instructions, translated and run under the emulation against
models written from the PTX ISA; and with an error in each row, which has to show."""

import re
from dataclasses import replace

import pytest

pytest.importorskip("tree_sitter_cuda")
from tests.host.ptx import cases
from tests.host.ptx.models import arithmetic, number, width

from kernelwright.dialects.simt import machine
from kernelwright.hipify.ptx import function, instructions, rows
from kernelwright.hipify.ptx.program import translate_ptx

pytestmark = cases.MARKS
N_BYTES, PLACE, SECOND = 64, 16, 40
MEMORY = bytes((37 * k + 129) % 251 for k in range(N_BYTES))
"""What lies in memory before: at PLACE, and at SECOND for operands."""
NOTHING = re.compile(r"^(cp\.async\.(commit|wait)|prefetch|membar|fence|createpolicy|isspacep)")
"""Instructions whose effect on memory is none."""
ARRAYS = re.compile(r"[va](\d)\.(\w+)")


def entries(*bases):
    found = {id(e): e for base in bases for e in rows.entries().get(base, ())}
    return [e for e in found.values() if not NOTHING.match(e.ptx)]


def held(kind):
    """The PTX type of a register that takes a kind."""
    kind = {"m32": "u32", "m64": "u64", "f16x2": "u32", "bf16x2": "u32"}.get(kind, kind)
    return kind if kind in ("f32", "f64") else f"b{max(int(kind.lstrip('usb')), 16)}"


def bits_of(kind):
    kind = {"m32": "u32", "m64": "u64", "f16x2": "u32", "bf16x2": "u32"}.get(kind, kind)
    return width(kind)


def at(place, bits):
    return int.from_bytes(MEMORY[place : place + bits // 8], "little")


def kernel(number_, opcode, row):
    """A kernel: the memory is copied to shared memory if that is meant, the instruction executed,
    and memory and result are stored."""
    is_shared = any(s.kind == "shared" for s in row.slots)
    base = "sm" if is_shared else "%mem"
    lines, operands, result = [], [], ""
    for slot in row.slots:
        array = ARRAYS.fullmatch(slot.kind)
        kind, n = (array[2], int(array[1])) if array else (slot.kind, 0)
        if slot.kind in ("generic", "shared"):
            name = "%in" if slot.name == "from" else base
            operands.append(f"[{name}+{SECOND - 16 if slot.name == 'from' else PLACE}]")
        elif slot.kind.startswith("imm:"):
            operands.append("8")
        elif slot.is_result:
            names = [f"%d{k}" for k in range(n or 1)]
            lines.append(f".reg .{held(kind)} {', '.join(names)};")
            operands.append("{" + ", ".join(names) + "}" if n else names[0])
            result = " ".join(f"st.global.{held(kind)} [%out+{64 + 16 * k}], {name};"
                              for k, name in enumerate(names))  # fmt: skip
        else:
            names = [f"%{slot.name}{k}" for k in range(n or 1)]
            lines.append(f".reg .{held(kind)} {', '.join(names)};")
            size = max(bits_of(kind) // 8, 1)
            for k, name in enumerate(names):
                lines.append(
                    f"ld.global.{held(kind)} {name}, [%in+{operand_at(slot, row) + k * size}];"
                )
            operands.append("{" + ", ".join(names) + "}" if n else names[0])
    to_shared, back = [], []
    for k in range(0, N_BYTES, 16):
        words = "{%w, %x}"
        to_shared += [f"ld.global.v2.u64 {words}, [%in+{k}]; st.shared.v2.u64 [sm+{k}], {words};"]
        source = (
            f"shared.v2.u64 {words}, [sm+{k}]"
            if is_shared
            else f"global.v2.u64 {words}, [%mem+{k}]"
        )
        back.append(f"ld.{source}; st.global.v2.u64 [%out+{k}], {words};")
    return (
        f".visible .entry probe_{number_}(.param .u64 a, .param .u64 b, .param .u64 c)\n{{\n"
        ".shared .align 16 .b8 sm[64];\n.reg .b64 %in, %mem, %out, %w, %x;\n"
        "ld.param.u64 %in, [a]; ld.param.u64 %mem, [b]; ld.param.u64 %out, [c];\n"
        + "\n".join([*(to_shared if is_shared else []), *lines])
        + f"\n{opcode} {', '.join(operands)};\n{result}\n" + "\n".join(back) + "\nret;\n}\n"
    )  # fmt: skip


def operand_at(slot, row):
    """Where an operand lies; what is compared with the memory is what lies there."""
    return PLACE if slot.name == "a" and ".cas" in row.ptx else SECOND


def run_probes(kernels, folder):
    """Run kernels, and return for each the 128 bytes that it leaves."""
    translated = translate_ptx(cases.HEAD + "".join(kernels))
    assert not translated.unported, [str(f) for f in translated.unported[:5]]
    listed = ", ".join(map(str, MEMORY))
    launches = "".join(
        "hipMemcpy(mem, start, 64, hipMemcpyHostToDevice); hipMemset(out, 0, 128);"
        f"probe_{k}<<<1, 1>>>((u64)in, (u64)mem, (u64)out); show(out);\n"
        for k in range(len(kernels))
    )
    main = f"""
#include <cstdio>
void show(const unsigned char* out) {{
  for (int k = 0; k < 128; ++k) printf("%02x", out[k]);
  puts("");
}}
int main() {{
  unsigned char start[64] = {{{listed}}}, *in, *mem, *out;
  hipMalloc(&in, 128), hipMalloc(&mem, 64), hipMalloc(&out, 128);
  hipMemcpy(in, start, 64, hipMemcpyHostToDevice);
  {launches}
}}
"""
    program = machine.build(translated.text + main, folder=folder, is_checked=False)
    done = machine.run(program, how=machine.Running(limit_s=120))
    assert done.exit_code == 0, done.errors
    return [bytes.fromhex(line) for line in done.output.split()]


def wanted(opcode, row):
    """Memory and result behind an instruction: (memory, [(bits of the register, value)])."""
    base, memory = opcode.partition(".")[0], bytearray(MEMORY)
    slots = {slot.name: slot for slot in row.slots}
    if base in ("ld", "ldu"):
        return bytes(memory), loaded(slots["d"])
    if base == "st":
        size = sum_bytes(slots["a"])
        memory[PLACE : PLACE + size] = MEMORY[SECOND : SECOND + size]
        return bytes(memory), []
    if base == "cp":
        n = 8
        source = MEMORY[SECOND - 16 : SECOND - 16 + n]
        memory[PLACE : PLACE + n] = source
        return bytes(memory), []
    kind = opcode.rpartition(".")[2]
    bits = 32 if kind.endswith("x2") else width(kind)
    old = at(PLACE, bits)
    new = changed_by(opcode.split("."), kind, old, at(SECOND, bits))
    memory[PLACE : PLACE + bits // 8] = new.to_bytes(bits // 8, "little")
    return bytes(memory), [(bits, old)] if base == "atom" else []


def sum_bytes(slot):
    array = ARRAYS.fullmatch(slot.kind)
    return int(array[1]) * bits_of(array[2]) // 8 if array else bits_of(slot.kind) // 8


def loaded(slot):
    array = ARRAYS.fullmatch(slot.kind)
    kind, n = (array[2], int(array[1])) if array else (slot.kind, 1)
    bits, found = bits_of(kind), []
    for k in range(n):
        value = at(PLACE + k * bits // 8, bits)
        full = max(bits, 16)
        if kind.startswith("s"):
            value = number(value, kind) & ((1 << full) - 1)
        found.append((full, value))
    return found


def changed_by(mods, kind, old, given):
    words = set(mods)
    if kind in ("f32", "f64"):
        return arithmetic("add", kind, [old, given], ["rn"])
    if kind.endswith("x2"):
        halves = [arithmetic("add", kind[:-2], [old >> k & 0xFFFF, given >> k & 0xFFFF], ["rn"])
                  for k in (0, 16)]  # fmt: skip
        return halves[0] | halves[1] << 16
    mask = (1 << width(kind)) - 1
    a, b = number(old, kind), number(given, kind)
    if "inc" in words:
        return 0 if old >= given else old + 1
    if "dec" in words:
        return given if old == 0 or old > given else old - 1
    if "cas" in words:
        return given  # it is compared with what lies there
    ops = {"add": a + b, "min": min(a, b), "max": max(a, b), "and": a & b, "or": a | b,
           "xor": a ^ b, "exch": b}  # fmt: skip
    return next(value for op, value in ops.items() if op in words) & mask


def differs(opcode, row, left):
    memory, results = wanted(opcode, row)
    if left[:N_BYTES] != memory:
        return f"{opcode}: memory {left[:N_BYTES].hex()}, not {memory.hex()}"
    for k, (bits, value) in enumerate(results):
        seen = int.from_bytes(left[64 + 16 * k : 64 + 16 * k + bits // 8], "little")
        if seen != value:
            return f"{opcode}: result {seen:#x}, not {value:#x}"
    return ""


def memory_probes():
    found, seen = [], set()
    for entry in entries("ld", "ldu", "st", "atom", "red", "cp"):
        for number_of_keys, keys in enumerate(cases.keys_of(entry)):
            for is_full in (False, True)[: 2 if number_of_keys < 2 else 1]:
                opcode, row = cases.opcode(entry, keys, is_full), entry.row(keys)
                if is_full and (entry.ptx.count("[<order>]") or entry.ptx.count("[<reach>]")):
                    continue  # one order and one scope; the others are the same pattern
                if opcode not in seen:
                    seen.add(opcode)
                    found.append((entry, opcode, row))
    return found


def test_every_row_of_memory_does_what_the_isa_says(tmp_path):
    work = memory_probes()
    left = run_probes([kernel(k, o, r) for k, (_, o, r) in enumerate(work)], tmp_path)
    wrong = [
        said
        for (_, o, r), bytes_ in zip(work, left, strict=True)
        if (said := differs(o, r, bytes_))
    ]
    assert not wrong, "\n".join(wrong[:40])
    assert len(work) > 250


OTHERS = [("atomicAdd", "atomicSub"), ("atomicMin", "atomicMax"), ("atomicMax", "atomicMin"),
          ("atomicAnd", "atomicOr"), ("atomicOr", "atomicAnd"), ("atomicXor", "atomicOr"),
          ("atomicExch", "atomicAdd"), ("atomicInc", "atomicDec"), ("atomicDec", "atomicInc"),
          ("$a, $b", "$b + 1, $b"), ("old + $a", "old - $a"), ("$to", "((char*)$to + 8)"),
          ("$at", "((char*)$at + 8)")]  # fmt: skip


def test_an_error_in_any_row_of_memory_shows(tmp_path, monkeypatch):
    texts, work, changed, done = [], [], {}, set()
    for entry, opcode, row in memory_probes():
        if (entry.ptx, entry.form) in done:
            continue
        done.add((entry.ptx, entry.form))
        old, new = next((o, n) for o, n in OTHERS if o in row.c)
        name = f"mutant{len(texts)}"
        changed[name] = (replace(row, c=row.c.replace(old, new, 1)),)
        texts.append(kernel(len(texts), name, row))
        work.append((opcode, row, changed[name][0].c))
    known = instructions.rows_of
    for module in (instructions, function):
        monkeypatch.setattr(module, "rows_of", lambda name: changed.get(name) or known(name))
    left = run_probes(texts, tmp_path)
    unseen = [f"{o}: {c}" for (o, r, c), b in zip(work, left, strict=True) if not differs(o, r, b)]
    assert not unseen, "\n".join(unseen)
