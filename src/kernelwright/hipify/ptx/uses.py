"""Where the registers of a function are written and read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kernelwright.hipify.ptx import flow
from kernelwright.hipify.ptx.instructions import REGISTER, Bound, results_of
from kernelwright.hipify.ptx.reading import Instruction, Label

Start = tuple[int, int, int, list[str]]
"""A block: its number, where it begins and ends in the body, and its labels."""


@dataclass
class Uses:
    """The uses of registers, and the blocks that are reached."""

    writes: Counter[str] = field(default_factory=Counter)
    """Writes of a register; one under a guard counts twice, because it may leave what was there."""
    reads: Counter[str] = field(default_factory=Counter)
    ordered: set[str] = field(default_factory=set)
    """Registers that are read only where their definition has been executed before."""
    place: dict[int, int] = field(default_factory=dict)
    """Blocks that are reached → their places in an order in which dominators come first."""


def find_uses(
    body: Sequence[Instruction | Label],
    bound: dict[int, Bound | None],
    starts: Sequence[Start],
    shape: Sequence[flow.Block],
) -> Uses:
    """Return the uses of the registers of a body; ``bound`` has the rows of instructions by id."""
    order, place = flow.reverse_postorder(shape)
    parent = flow.dominators(shape, order, place)
    uses = Uses(place=place)
    defined: dict[str, tuple[int, int]] = {}
    first: dict[str, dict[int, int]] = {}
    for block, at, now in _placed(body, starts):
        written = results_of(now, bound[id(now)])
        uses.writes.update(written)
        uses.writes.update(written if now.guard else [])
        read = Counter(name for text in now.operands for name in REGISTER.findall(text))
        read.subtract(written)
        read.update([now.guard.lstrip("!")] if now.guard else [])
        uses.reads.update(read)
        defined |= dict.fromkeys(written, (block, at))
        for name in +read:
            first.setdefault(name, {}).setdefault(block, at)

    def dominates(above: int, below: int) -> bool:
        if above not in place or below not in place:
            return False
        while place[below] > place[above]:
            below = parent[below]
        return below == above

    for name, (block, at) in defined.items():
        readers = first.get(name, {}).items()
        if all(place_ > at if b == block else dominates(block, b) for b, place_ in readers):
            uses.ordered.add(name)
    return uses


def _placed(
    body: Sequence[Instruction | Label], starts: Sequence[Start]
) -> Iterator[tuple[int, int, Instruction]]:
    for block, start, end, _ in starts:
        for at in range(start, end):
            item = body[at]
            if isinstance(item, Instruction):
                yield block, at, item
