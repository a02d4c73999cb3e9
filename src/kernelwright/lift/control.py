"""Control flow of a kernel: where its instructions lead, as C with labels.

Branches, calls and returns are handled here, by mnemonics with all their modifiers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kernelwright.lift.operands import READERS, Banks
from kernelwright.lift.sass import Instruction

MARKS = ("BSSY", "BREAK", "BSSY.RECONVERGENT")
MEETINGS = ("BSYNC", "BSYNC.RECONVERGENT")
"""Where lanes that went different ways are together again. It has to stay one place: if a compiler
copies what follows into both ways, lanes may wait for a lock that others hold."""
DIVERGED = "BRA.DIV"
"""A branch to code that does by masks what the next instructions do for all lanes. It is taken if
its guard is true, which says that the lanes' masks differ, and never without a guard."""
ALWAYS = ("BRA.CONV",)
"""A branch that is taken where the lanes are converged; both ways compute the same."""
BRANCHES = ("BRA", "BRA.U", DIVERGED, *ALWAYS)
CALL, RETURN, EXIT, TRAP = "CALL.REL.NOINC", "RET.REL.NODEC", "EXIT", "BPT.TRAP"
HANDLED = (*MARKS, *MEETINGS, *BRANCHES, CALL, RETURN, EXIT)
_ADDRESS = re.compile(r"0x[0-9a-f]+$")
MOST_COPIES = 100_000
"""Instructions in copies of subroutines, at most: a kernel whose calls need more is not lifted."""


@dataclass(frozen=True, order=True)
class Location:
    """An instruction's place: subroutines are lifted once for each call, so that compilers see
    neither computed returns nor loops with several entries."""

    calls: tuple[int, ...]
    """The addresses behind the calls that led here, the outermost first."""
    address: int

    @property
    def label(self) -> str:
        return "_".join([f"at_{self.address:04x}", *(f"{at:04x}" for at in self.calls)])


@dataclass(frozen=True)
class Flow:
    """The places of a kernel that control flow leads to."""

    leads: Mapping[Location, Location]
    """The place that a branch, call or return leads to."""
    reached: frozenset[Location]
    """All places that can be executed. The code behind branches that are never taken is not among
    them, and need not be lifted."""

    @cached_property
    def labels(self) -> frozenset[Location]:
        return frozenset(self.leads.values())


def target_of(instruction: Instruction) -> int | None:
    """Return the address that a branch or call leads to."""
    found = _ADDRESS.search(instruction.operands[-1]) if instruction.operands else None
    return None if found is None else int(found[0], 16)


def flow_of(instructions: Sequence[Instruction]) -> Flow:
    """Return where control flow leads; calls lead nowhere if they need too many copies."""
    follows = {now.address: now for now in instructions}
    after = {a.address: b.address for a, b in pairwise(instructions)}
    leads, reached = dict[Location, Location](), set[Location]()
    left = [Location((), instructions[0].address)] if instructions else []
    while left:
        if len(reached) > len(instructions) + MOST_COPIES:
            outside = frozenset(at for at in reached if not at.calls)
            return Flow({at: to for at, to in leads.items() if not to.calls}, outside)
        at = left.pop()
        if at in reached or at.address not in follows:
            continue
        reached.add(at)
        now, next_ = follows[at.address], after.get(at.address)
        if (to := _led_to(now, at, next_, follows, after)) is not None:
            leads[at] = to
            left.append(to)
        if next_ is not None and not _leaves(now):
            left.append(Location(at.calls, next_))
    return Flow(leads, frozenset(reached))


def _led_to(
    now: Instruction,
    at: Location,
    next_: int | None,
    follows: Mapping[int, Instruction],
    after: Mapping[int, int],
) -> Location | None:
    """Return the place that an instruction leads to, besides the next one: None if it leads to no
    other, or calls what called it."""
    if now.mnemonic == RETURN and at.calls:
        return Location(at.calls[:-1], at.calls[-1])
    target = target_of(now) if now.mnemonic in (*BRANCHES, CALL) and not _is_never(now) else None
    if target is None:
        return None
    if now.mnemonic in BRANCHES or not _returns(target, follows, after):
        return Location(at.calls, target)
    return None if next_ is None or next_ in at.calls else Location((*at.calls, next_), target)


def _returns(target: int, follows: Mapping[int, Instruction], after: Mapping[int, int]) -> bool:
    """Return whether what is called at ``target`` may return; ptxas writes some jumps as calls."""
    seen, left = set[int](), [target]
    while left:
        at = left.pop()
        if at in seen or at not in follows:
            continue
        seen.add(at)
        now = follows[at]
        if now.mnemonic == RETURN:
            return True
        if now.mnemonic in BRANCHES and not _is_never(now) and (to := target_of(now)) is not None:
            left.append(to)
        if at in after and (not _leaves(now) or now.mnemonic == CALL):
            left.append(after[at])
    return False


def _is_never(now: Instruction) -> bool:
    return now.mnemonic == DIVERGED and not now.guard


def _leaves(now: Instruction) -> bool:
    """Return whether the next instruction is never executed after this one."""
    if now.guard not in ("", "PT"):
        return False
    if now.mnemonic in (RETURN, TRAP, *ALWAYS):
        return True
    n_plain = 0 if now.mnemonic == EXIT else 1
    return now.mnemonic in (EXIT, CALL, *BRANCHES) and len(now.operands) == n_plain


def control(now: Instruction, at: Location, flow: Flow, banks: Banks) -> str | None:
    """Return the C of a control instruction, without its guard; None if it cannot be lifted."""
    if now.mnemonic in MARKS or _is_never(now):
        return ""
    if now.mnemonic in MEETINGS:
        return "RECONVERGE();"
    if now.mnemonic == EXIT:
        return _if_all(now.operands, "return;", banks)
    to = flow.leads.get(at)
    if to not in flow.reached:
        return None
    if now.mnemonic == RETURN:
        found = re.fullmatch(r"(R\d+)(?:,)? ?0x0", " ".join(now.operands))
        back = f"goto {to.label}; TRAP(); return;"
        return f"if ({found[1]} == {to.address:#x}) {back}" if found else None
    conditions = () if now.mnemonic in (*ALWAYS, DIVERGED) else now.operands[:-1]
    return _if_all(conditions, f"goto {to.label};", banks)


def _if_all(conditions: Sequence[str], then: str, banks: Banks) -> str | None:
    read = [READERS["pred"](text, banks) for text in conditions]
    if None in read:
        return None
    return f"if ({' && '.join(map(str, read))}) {then}" if read else then
