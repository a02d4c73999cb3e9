"""Listings: the instructions of a code object, decoded from llvm-objdump's text for the emulator.

The names and syntax of operands are those of LLVM's assembler: "Syntax of AMDGPU Instruction
Operands" and "Syntax of AMDGPU Instruction Modifiers". A line that cannot be read is kept as an
instruction that the emulator does not know.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.dialects.amdgpu import find_clang
from kernelwright.isa.lane_moves import lane_table
from kernelwright.isa.objects import CodeObject, read_object

_LINE = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): ([0-9A-F ]+)")
_ENCODINGS = re.compile(r"_(e32|e64|e64_dpp|dpp|sdwa|e32_dpp)$")
_REGISTER = re.compile(r"^([vsa])(?:(\d+)|\[(\d+):(\d+)\])(\.[lh])?$")
_NAMED = {
    "vcc": (106, 2), "vcc_lo": (106, 1), "vcc_hi": (107, 1), "null": (124, 1), "m0": (125, 1),
    "exec": (126, 2), "exec_lo": (126, 1), "exec_hi": (127, 1), "scc": (253, 1),
    "src_scc": (253, 1),
    "flat_scratch": (102, 2), "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1),
    "xnack_mask": (104, 2), "src_shared_base": (200, 2), "src_shared_limit": (202, 2),
    "src_private_base": (204, 2), "src_private_limit": (206, 2),
}  # fmt: skip
"""Scalar registers by name: (index, words), shared with runtime/machine.h."""
_TEMPORARY = re.compile(r"^ttmp(?:(\d+)|\[(\d+):(\d+)\])$")
_FIRST_TEMPORARY = 108
_ACCUMULATORS = 256
_TURN = {"0.15915494": "0.15915494309189532", "0.1592": "0.15915494309189532"}
_WAITS = re.compile(r"\b(vmcnt|lgkmcnt|expcnt)\((\d+)\)")
_HARDWARE = re.compile(r"hwreg\((\w+)(?:,\s*(\d+),\s*(\d+))?\)")
_HARDWARE_NUMBERS = {
    "HW_REG_MODE": 1, "HW_REG_STATUS": 2, "HW_REG_HW_ID": 4, "HW_REG_XCC_ID": 20,
    "HW_REG_HW_ID1": 23, "HW_REG_HW_ID2": 24, "HW_REG_SHADER_CYCLES": 29,
}  # fmt: skip
_LISTS = re.compile(r"\b(op_sel|op_sel_hi|neg_lo|neg_hi):\[([01,]+)\]")
_NUMBERS = re.compile(r"\b(offset|offset0|offset1|row_mask|bank_mask|cbsz|abid|blgp):(-?\w+)")
_SWIZZLE = re.compile(r"offset:swizzle\((.*?)\)")
_PARTS = {f"BYTE_{n}": n + 1 for n in range(4)} | {"WORD_0": 5, "WORD_1": 6, "DWORD": 0}
_SELECTED = re.compile(r"\b(src0_sel|src1_sel|dst_sel):(\w+)")
_UNUSED = re.compile(r"\bdst_unused:UNUSED_(PAD|SEXT|PRESERVE)")
_FLAGS = ("clamp", "glc", "slc", "dlc", "nt", "sc0", "sc1", "gds")
"""Modifiers of one word. Those of caches mean nothing where there are none."""
_OUTPUT = {"mul:2": 1, "mul:4": 2, "div:2": 3}
_ACCUMULATING = re.compile(r"^v_(dual_)?(fmac|mac|dot\w+c|dot2acc|pk_fmac)_\w+$")
_BRANCH = re.compile(r"^s_c?branch")
_WITHOUT_OPERANDS = re.compile(
    r"^s_(delay_alu|waitcnt_depctr|clause|nop|sendmsg|set_inst_prefetch_distance|waitcnt_vscnt"
    r"|waitcnt_expcnt|inst_prefetch|sleep|endpgm|barrier|setprio|sethalt|trap)$|^buffer_gl|"
    r"^buffer_(inv|wb)|^ds_gws"
)


def find_objdump() -> str | None:
    """Return llvm-objdump of the same version as clang, or the one on PATH."""
    clang = find_clang()
    if clang is not None:
        beside = Path(clang).resolve().parent / "llvm-objdump"
        if beside.exists():
            return str(beside)
    return shutil.which("llvm-objdump")


def listing_of(code_object: Path, folder: Path) -> Path:
    """Write the listing of a code object in ``folder``, and return its path.

    Raises:
        UsageError: it is not a code object for AMD GPUs, or llvm-objdump cannot read it.
    """
    objdump = find_objdump()
    if objdump is None:
        raise UsageError("no llvm-objdump on PATH", do="run: apt-get install llvm")
    command = [objdump, "-d", str(code_object)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UsageError(f"{code_object} cannot be disassembled", seen=run.stderr.strip()[:200])
    object_ = read_object(code_object)
    path = folder / f"{code_object.stem}.listing"
    path.write_text("\n".join([*_head(object_), *decoded(run.stdout, object_.generation)]) + "\n")
    return path


def _head(object_: CodeObject) -> Iterator[str]:
    yield f"generation {object_.generation} {int(object_.packs_ids)}"
    for k in object_.kernels:
        numbers = (k.lds_bytes, k.private_bytes, k.kernarg_bytes, k.rsrc1, k.rsrc2)
        more = (k.properties, k.preload, k.n_vectors, k.width)
        yield f"kernel {k.name} {k.entry:x} {' '.join(map(str, (*numbers, *more)))}"
        for h in k.hidden:
            yield f"hidden {k.name} {h.kind} {h.offset} {h.n_bytes}"
    for name, at, n in object_.symbols:
        yield f"symbol {name} {at:x} {n}"
    yield f"image {object_.image_bytes}"
    for at, data in object_.segments:
        yield f"bytes {at:x} {data.hex()}"
    for at, to in object_.addresses:
        yield f"address {at:x} {to:x}"


def decoded(text: str, generation: int) -> Iterator[str]:
    """Yield the listing's line of each instruction in llvm-objdump's text."""
    width = 32 if generation >= 10 else 64
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None or found[1] == "s_code_end":
            continue
        said, pc, raw = found[1], int(found[2], 16), found[3].split()
        halves = said.split("::")
        for number, half in enumerate(halves):
            kind = "i" if number == 0 else "d"
            fields = _fields(half.strip(), width)
            if _BRANCH.match(fields):  # the text may name a label instead of the distance
                fields = f"{fields.split()[0]} ; k{int(raw[0], 16) & 0xFFFF}"
            yield f"{kind} {pc:x} {4 * len(raw)} {fields}\t{said}"


def _fields(said: str, width: int) -> str:
    """Return mnemonic, modifiers and operands of one instruction; if it cannot be read, a mnemonic
    that no emulator knows."""
    mnemonic, _, rest = said.partition(" ")
    plain = mnemonic
    while _ENCODINGS.search(plain):
        plain = _ENCODINGS.sub("", plain)
    is_dual = plain.startswith("v_dual_")
    plain = plain.replace("v_dual_", "v_")
    try:
        if _WITHOUT_OPERANDS.match(plain):
            return plain
        modifiers, operands = _split(plain, rest.strip(), width)
        words = [_operand(o) for o in operands]
    except ValueError:
        return f"{plain} unknown=1 ;"
    if is_dual and plain == "v_cndmask_b32" and len(words) == 3:
        words.append("s106:1")
    accumulating = _ACCUMULATING.match(plain)
    if accumulating and len(words) == 3:
        words.append(words[0])
    named = " ".join(f"{key}={value}" for key, value in modifiers.items())
    return f"{plain} {named} ; {' '.join(words)}".replace("  ", " ")


def _split(mnemonic: str, rest: str, width: int) -> tuple[dict[str, int | str], list[str]]:
    """Return modifiers and operands.

    Raises:
        ValueError: a modifier is unknown.
    """
    if mnemonic.startswith("s_waitcnt"):
        return _waits(mnemonic, rest), []
    modifiers, rest = _with_brackets(re.sub(r"<[^>]*>|sendmsg\([^)]*\)", "", rest))
    moved, rest = lane_table(rest, width)
    modifiers |= moved or {}
    modifiers |= {name: int(value, 0) for name, value in _NUMBERS.findall(rest)}
    rest = _NUMBERS.sub("", rest)
    for word, number in _OUTPUT.items():
        if word in rest:
            modifiers["omod"], rest = number, rest.replace(word, "")
    words = [word for part in rest.split(",") for word in part.split()]
    modifiers |= {word: 1 for word in words if word in _FLAGS}
    operands = [word for word in words if word not in _FLAGS]
    if any(re.match(r"\w+:", word) for word in operands):
        raise ValueError(rest)
    # operands that name their halves say it once more in op_sel
    if any(re.search(r"\.[lh]\|?$", word) for word in operands):
        modifiers.pop("op_sel", None)
    return modifiers, operands


def _with_brackets(rest: str) -> tuple[dict[str, int | str], str]:
    """Return the modifiers that are written with brackets, and the text without them."""
    modifiers: dict[str, int | str] = {}
    if found := _HARDWARE.search(rest):
        number = _HARDWARE_NUMBERS.get(found[1], -1)
        first, size = int(found[2] or 0), int(found[3] or 32)
        modifiers |= {"hwreg": number, "hwoffset": first, "hwsize": size}
        rest = rest.replace(found[0], "")
    if found := _SWIZZLE.search(rest):
        modifiers["offset"] = _swizzle(found[1])
        rest = rest.replace(found[0], "")
    modifiers |= {name: _PARTS[part] for name, part in _SELECTED.findall(rest)}
    if found := _UNUSED.search(rest):
        modifiers["dst_unused"] = ("PAD", "SEXT", "PRESERVE").index(found[1])
    rest = _UNUSED.sub("", _SELECTED.sub("", rest))
    for name, bits in _LISTS.findall(rest):
        modifiers[name] = sum(int(bit) << k for k, bit in enumerate(bits.split(",")))
    return modifiers, _LISTS.sub("", rest)


def _waits(mnemonic: str, rest: str) -> dict[str, int | str]:
    if mnemonic == "s_waitcnt":
        found: dict[str, int | str] = {name: int(n) for name, n in _WAITS.findall(rest)}
        if not found:
            raise ValueError(rest)
        return found
    counter = mnemonic.removeprefix("s_waitcnt_")
    return {counter: int(rest.split(",")[-1].strip(), 0)}


def _swizzle(said: str) -> int:
    """Return the 16 bits of a lane pattern of ds_swizzle_b32."""
    kind, *given = (word.strip() for word in said.split(","))
    numbers = [int(g, 0) for g in given if not g.startswith('"')]
    if kind == "QUAD_PERM":
        return 0x8000 | sum(n << 2 * k for k, n in enumerate(numbers))
    if kind == "SWAP":
        return numbers[0] << 10 | 0x1F
    if kind == "REVERSE":
        return (numbers[0] - 1) << 10 | 0x1F
    if kind == "BROADCAST":
        return numbers[1] << 5 | (0x1F & ~(numbers[0] - 1))
    if kind == "BITMASK_PERM":
        kept = flipped = set_ = 0
        for k, c in enumerate(reversed(given[0].strip('"'))):
            kept |= (c in "pi") << k
            flipped |= (c == "i") << k
            set_ |= (c == "1") << k
        return flipped << 10 | set_ << 5 | kept
    raise ValueError(said)


def _operand(said: str) -> str:
    """Return one operand as the emulator reads it.

    Raises:
        ValueError: it is none.
    """
    prefix = ""
    while True:
        if said.startswith("-") and not re.match(r"^-[\d.]", said):
            prefix, said = f"{prefix}-", said[1:]
        elif said.startswith("|") and said.endswith("|"):
            prefix, said = f"{prefix}|", said[1:-1]
        elif said.startswith("neg(") and said.endswith(")"):
            prefix, said = f"{prefix}-", said[4:-1]
        elif said.startswith("sext(") and said.endswith(")"):
            prefix, said = f"{prefix}+", said[5:-1]
        elif said.startswith("lit(") and said.endswith(")"):
            said = said[4:-1]
        else:
            break
    return prefix + _plain_operand(said)


def _plain_operand(said: str) -> str:
    if said == "off":
        return "n"
    if said in _NAMED:
        index, words = _NAMED[said]
        return f"s{index}:{words}"
    if found := _REGISTER.match(said):
        first = int(found[2] or found[3])
        words = 1 if found[2] else int(found[4]) - first + 1
        kind = "s" if found[1] == "s" else "v"
        first += _ACCUMULATORS if found[1] == "a" else 0
        return f"{kind}{first}:{words}{found[5] or ''}"
    if found := _TEMPORARY.match(said):
        first = int(found[1] or found[2])
        words = 1 if found[1] else int(found[3]) - first + 1
        return f"s{first + _FIRST_TEMPORARY}:{words}"
    if re.fullmatch(r"0x[0-9a-f]+", said):
        return f"l{said[2:]}"
    if re.fullmatch(r"-?\d+", said):
        return f"k{said}"
    return f"f{float(_TURN.get(said, said))!r}"
