"""One kernel in SASS → one function in C, with a finding for each instruction that has no row."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernelwright.lift.banks import KernelBanks
from kernelwright.lift.control import HANDLED, Flow, Location, control, flow_of
from kernelwright.lift.cubin import Parameter
from kernelwright.lift.operands import C_TYPES, READERS, written
from kernelwright.lift.rows import Bound, bind, rows
from kernelwright.lift.sass import Instruction, SassKernel

_REGISTERS = re.compile(r"\bU?R\d+\b")
_PREDICATES = re.compile(r"\bU?P\d\b")
N_PREDICATES = 7
_OTHER_SHARED = {"LDS": "STS", "STS": "LDS"}
_SYNC = "WARPSYNC"
_MEETING = ("BAR", _SYNC, "SHFL", "VOTE", "MATCH", "REDUX", "ATOMS")
"""Instructions at which lanes of a warp meet anyway."""


@dataclass(frozen=True)
class Unlifted:
    """An instruction without a row or with operands that no row takes."""

    line: int
    text: str
    reason: str
    advice: str


@dataclass(frozen=True)
class LiftedKernel:
    """A kernel as C; ``c`` is empty if an instruction of it was not lifted."""

    name: str
    c: str
    unlifted: tuple[Unlifted, ...]
    parameters: tuple[Parameter, ...]
    n_instructions: int
    used: tuple[str, ...] = ()
    """Full mnemonics of its instructions, each once."""


def lift_kernel(kernel: SassKernel, banks: KernelBanks, *, file: str) -> LiftedKernel:
    """Lift one kernel; ``file`` is its text's name, for compilers' messages."""
    flow = flow_of(kernel.instructions)
    known = {i.address: i for i in kernel.instructions}
    instructions = [known[at] for at in sorted({place.address for place in flow.reached})]
    lines: list[str] = []
    unlifted: dict[int, Unlifted] = {}
    labels = {place.address for place in flow.labels}
    meets, masked = _meetings(instructions, labels), _masked(instructions, labels)
    for calls, places in itertools.groupby(sorted(flow.reached), lambda place: place.calls):
        lines += ["return;"] if calls else []
        for place in places:
            now = known[place.address]
            body = _instruction(now, place, flow, banks, is_masked=now.address in masked)
            if isinstance(body, Unlifted):
                unlifted[now.address] = body
                continue
            lines += [f"{place.label}:;"] if place in flow.labels else []
            lines.append(f'#line {now.line} "{file}"')
            lines += ["LANES_MEET();"] if now.address in meets else []
            lines.append(_guarded(now, body))
    facts = banks.facts
    parameters = facts.parameters or _parameters_read(instructions, facts.parameter_base)
    used = tuple(dict.fromkeys(i.mnemonic for i in instructions))
    missing = (*(_unread(line, text) for line, text in kernel.strays), *unlifted.values())
    text = "" if missing else _function(kernel, lines, parameters)
    return LiftedKernel(kernel.name, text, missing, parameters, len(instructions), used)


def _instruction(
    now: Instruction, place: Location, flow: Flow, banks: KernelBanks, *, is_masked: bool
) -> str | Unlifted:
    if now.mnemonic in HANDLED:
        text = control(now, place, flow, banks)
        return _unlifted(now) if text is None else text
    bound = bind(now.mnemonic, now.operands, banks)
    members = "synced" if is_masked else "~0u"
    return _unlifted(now) if bound is None else statement(bound, members)


def statement(bound: Bound, members: str = "~0u") -> str:
    """Return a row's C with its operands around it; ``members`` are the lanes that take part in
    what a warp does together."""
    parts = [f"const u32 members = {members};"] if "members" in bound.row.c else []
    parts += [f"const {_type(slot.kind)} {slot.name} = {value};" for slot, value in bound.inputs
             if slot.kind in READERS]  # fmt: skip
    parts += [f"{_type(slot.kind)} {slot.name};" for slot, _ in bound.results]
    parts.append(bound.row.c)
    parts += [written(slot, text) for slot, text in bound.results if text]
    return "{ " + " ".join(part for part in parts if part) + " }"


def _type(kind: str) -> str:
    return C_TYPES.get(kind, kind)


def _guarded(now: Instruction, body: str) -> str:
    if not body or now.guard in ("PT", "UPT"):
        return body
    return f"if ({now.guard.replace('PT', 'true')}) {{ {body} }}" if now.guard else body


def _unlifted(now: Instruction) -> Unlifted:
    if now.mnemonic in rows() or now.mnemonic in HANDLED:
        reason = "no row takes these operands"
    elif any(name.partition(".")[0] == now.base for name in rows()):
        reason = "no row has all of these modifiers"
    else:
        reason = f"no row for {now.base}"
    return Unlifted(now.line, str(now), reason, _ADVICE.get(now.base, _USUAL))


def _unread(line: int, text: str) -> Unlifted:
    return Unlifted(line, text, "it cannot be read", "report this line")


_USUAL = "port the program's CUDA source, or add a row to lift/tables with its probe"
_ADVICE = {
    **dict.fromkeys(
        ("TEX", "TLD", "TLD4", "SULD", "SUST", "SUATOM", "TXQ"),
        "textures and surfaces are not lifted: read from plain memory in the source",
    ),
    **dict.fromkeys(
        ("HMMA", "IMMA", "DMMA", "HGMMA", "BMMA", "QGMMA"),
        "this product of matrices is not lifted: use rocWMMA in a port of the source",
    ),
    **dict.fromkeys(
        ("UTMALDG", "UTMASTG", "SYNCS", "LDGSTS", "LDGDEPBAR", "UBLKCP"),
        "asynchronous copies are not lifted: build the program for sm_70 or load by threads",
    ),
    **dict.fromkeys(("CALL", "JMP", "BRX", "JMX", "RET"),
                    "calls of other functions are not lifted: inline them"),
}  # fmt: skip


def _meetings(instructions: Sequence[Instruction], labels: Iterable[int]) -> frozenset[int]:
    """Return the shared memory accesses before which the twin's lanes have to meet.

    The lanes of a warp read and write shared memory in step, and programs rely on it between
    barriers. The twin's threads run one after the other, so that they wait for each other between a
    read and a write, in either order, of one stretch without branches.
    """
    found, pending = set(), set[str]()
    places = frozenset(labels)
    for now in instructions:
        if now.address in places or now.base in _MEETING or now.mnemonic in HANDLED:
            pending.clear()
        if (before := _OTHER_SHARED.get(now.base)) is None:
            continue
        if before in pending:
            found.add(now.address)
            pending.clear()
        pending.add(now.base)
    return frozenset(found)


def _masked(instructions: Sequence[Instruction], labels: Iterable[int]) -> frozenset[int]:
    """Return the instructions of a warp that only the lanes of a mask take part in: those between
    WARPSYNC, which lets these lanes go on together, and the next branch or label."""
    found, places, is_synced = set(), frozenset(labels), False
    for now in instructions:
        is_synced &= now.address not in places and now.mnemonic not in HANDLED
        is_synced |= now.base == _SYNC
        if is_synced:
            found.add(now.address)
    return frozenset(found)


def _function(kernel: SassKernel, lines: list[str], parameters: Sequence[Parameter]) -> str:
    body = "\n".join(lines)
    text = re.sub(r"^#line.*$", "", body, flags=re.MULTILINE)
    registers = sorted(set(_REGISTERS.findall(text)))
    predicates = {f"P{k}" for k in range(N_PREDICATES)} if "PREDICATES" in text else set()
    predicates |= set(_PREDICATES.findall(text))
    declared = [f"u32 {name} = 0;" for name in registers]
    declared += [f"bool {name} = false;" for name in sorted(predicates)]
    words = set(re.findall(r"\w+", text))
    declared += [f"u32 {name} = 0;" for name in ("barrier_result", "synced") if name in words]
    if "stack" in words:
        declared.append(f"_Alignas(16) u8 stack[{_stack_bytes(kernel.instructions)}];")
    types, given = _signature(kernel.name, parameters)
    return f"{types}KERNEL(NAMED({kernel.name}), ({given})) {{\n{' '.join(declared)}\n{body}\n}}\n"


def _stack_bytes(instructions: Iterable[Instruction]) -> int:
    """Return the local memory of a thread: all that is ever taken from the stack's pointer."""
    taken = 0
    for now in instructions:
        if now.base in ("IADD3", "VIADD") and now.operands[:2] == ("R1", "R1"):
            amount = int(now.operands[2], 16) if now.operands[2].lstrip("-")[:2] == "0x" else 0
            signed = amount - (1 << 32) if amount >> 31 == 1 else amount
            taken += max(-signed, 0)
    return max(taken, 16)


def _signature(name: str, parameters: Sequence[Parameter]) -> tuple[str, str]:
    """Return the types of a kernel's parameters, and the parameters: blocks of bytes that lie where
    CUDA has them."""
    types, given, end = "", [], 0
    for k, parameter in enumerate(parameters):
        align = 1
        while -(-end // align) * align != parameter.offset:
            align *= 2
        while (
            align < 8 and parameter.offset % (2 * align) == 0 and parameter.size % (2 * align) == 0
        ):
            align *= 2
        types += f"typedef struct {{ _Alignas({align}) u8 bytes[{parameter.size}]; }} {name}_{k};\n"
        given.append(f"{name}_{k} p{k}")
        end = parameter.offset + parameter.size
    return types, ", ".join(given) or "void"


def _parameters_read(instructions: Iterable[Instruction], base: int) -> tuple[Parameter, ...]:
    """Return one block of bytes for all arguments that the code reads, if nothing says more."""
    offsets = [
        int(at, 16) - base
        for now in instructions
        for operand in now.operands
        for at in re.findall(r"c\[0x0\]\[(0x[0-9a-f]+)\]", operand)
    ]
    end = max((at for at in offsets if at >= 0), default=-8) + 8
    return (Parameter(0, end),) if end else ()


def used_rows(kernels: Iterable[LiftedKernel]) -> Iterator[str]:
    """Yield the mnemonics of kernels, each once."""
    yield from dict.fromkeys(name for kernel in kernels for name in kernel.used)
