"""Control flow of a kernel: where its instructions lead, as C with labels.

Branches, calls and returns are handled here, by mnemonics with all their modifiers. Diverged lanes
meet again at BSYNC: compilers for AMD find that place by themselves, and the twin's collectives
wait for the lanes that are converged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernelwright.lift.operands import READERS, Banks
from kernelwright.lift.sass import Instruction

MARKS = ("BSSY", "BSYNC", "BREAK", "BSSY.RECONVERGENT", "BSYNC.RECONVERGENT")
NEVER = ("BRA.DIV",)
"""Branches to code that does lane by lane what the next instructions do for all: never taken."""
ALWAYS = ("BRA.CONV",)
"""A branch that is taken where the lanes are converged; both ways compute the same."""
BRANCHES = ("BRA", "BRA.U", *ALWAYS)
CALL, RETURN, EXIT = "CALL.REL.NOINC", "RET.REL.NODEC", "EXIT"
HANDLED = (*MARKS, *NEVER, *BRANCHES, CALL, RETURN, EXIT)
_ADDRESS = re.compile(r"0x[0-9a-f]+$")


@dataclass(frozen=True)
class Flow:
    """The places of a kernel that control flow leads to."""

    labels: frozenset[int]
    returns: tuple[int, ...]
    """Addresses behind calls: a return leads to one of them."""
    reached: frozenset[int]
    """Addresses of the instructions that can be executed. The code behind branches that are never
    taken is not among them, and need not be lifted."""


def target_of(instruction: Instruction) -> int | None:
    """Return the address that a branch or call leads to."""
    found = _ADDRESS.search(instruction.operands[-1]) if instruction.operands else None
    return None if found is None else int(found[0], 16)


def flow_of(instructions: Sequence[Instruction]) -> Flow:
    follows = {now.address: now for now in instructions}
    after = {a.address: b.address for a, b in pairwise(instructions)}
    labels, returns, reached = set[int](), set[int](), set[int]()
    left = [instructions[0].address] if instructions else []
    while left:
        at = left.pop()
        if at in reached or at not in follows:
            continue
        reached.add(at)
        now, target = follows[at], None
        if now.mnemonic in (*BRANCHES, CALL) and (target := target_of(now)) is not None:
            labels.add(target)
            left.append(target)
        if now.mnemonic == CALL and at in after:
            returns.add(after[at])
        if at in after and not _leaves(now):
            left.append(after[at])
    return Flow(frozenset(labels | returns), tuple(sorted(returns)), frozenset(reached))


def _leaves(now: Instruction) -> bool:
    """Return whether the next instruction is never executed after this one."""
    if now.guard not in ("", "PT"):
        return False
    is_plain = now.mnemonic in ALWAYS or len(now.operands) == 1
    return now.mnemonic in (EXIT, RETURN) or (now.mnemonic in BRANCHES and is_plain)


def control(now: Instruction, flow: Flow, known: frozenset[int], banks: Banks) -> str | None:
    """Return the C of a control instruction, without its guard; None if it cannot be lifted."""
    if now.mnemonic in (*MARKS, *NEVER):
        return ""
    if now.mnemonic == EXIT:
        return "return;" if not now.operands else None
    if now.mnemonic == RETURN:
        return _return(now, flow)
    target = target_of(now)
    if target is None or target not in known:
        return None
    conditions = [] if now.mnemonic in ALWAYS else now.operands[:-1]
    read = [READERS["pred"](text, banks) for text in conditions]
    if None in read:
        return None
    return f"{_if(read)}goto {label(target)};"


def _if(conditions: Sequence[str | None]) -> str:
    return f"if ({' && '.join(str(c) for c in conditions)}) " if conditions else ""


def _return(now: Instruction, flow: Flow) -> str | None:
    found = re.fullmatch(r"(R\d+)(?:,)? ?0x0", " ".join(now.operands))
    if found is None or not flow.returns:
        return None
    cases = " ".join(f"case {at:#x}: goto {label(at)};" for at in flow.returns)
    return f"switch ({found[1]}) {{ {cases} default: TRAP(); return; }}"


def label(address: int) -> str:
    return f"at_{address:04x}"
