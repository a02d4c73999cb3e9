"""Kernels that sweep several times over the elements of a group: each sweep is a loop over blocks.

Rows, segments and channels are read by all lanes of a program, in blocks. Columns are read element
by element, one column per lane. Any length is therefore handled, and neighbours in memory are read
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.suites.composed.lessons.lesson_builder import block

Fold = tuple[str, str, str]  # the name, the reduction, and the value that is reduced
Found = Fold | tuple[Fold, ...] | str
STARTS = {"sum": "0.0", "max": 'float("-inf")', "min": 'float("inf")', "product": "1.0"}
ENDS = {"sum": "tl.sum", "max": "tl.max", "min": "tl.min"}


@dataclass(frozen=True)
class Way:
    """How a kernel reads: the lines at its head, its loop, and the lines that load ``v``."""

    head: tuple[str, ...]
    loop: str
    load: tuple[str, ...]
    store: str
    result: str
    """The line that stores one value for a whole group of elements."""
    number: str
    """The expression of an element's number within its group."""
    is_blocked: bool
    """Whether the lanes of a program hold parts of one result."""


BLOCKED = ("at = start + tl.arange(0, BLOCK)", "inside = at < length")
ROW = Way(
    ("row = tl.program_id(0)",),
    "for start in range(0, length, BLOCK):",
    (*BLOCKED, "v = tl.load(x + row * length + at, mask=inside, other=0.0)"),
    "tl.store(out + row * length + at, v, mask=inside)",
    "tl.store(out + row, v)",
    "at",
    True,
)
COLUMN = Way(
    (
        "batch = tl.program_id(0)",
        "column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)",
        "inside = column < width",
    ),
    "for r in range(0, length):",
    ("v = tl.load(x + (batch * length + r) * width + column, mask=inside, other=0.0)",),
    "tl.store(out + (batch * length + r) * width + column, v, mask=inside)",
    "tl.store(out + batch * width + column, v, mask=inside)",
    "r",
    False,
)
CHANNEL = Way(
    ("c = tl.program_id(0)",),
    "for start in range(0, length, BLOCK):",
    (
        *BLOCKED,
        "i = (at // inner * channels + c) * inner + at % inner",
        "v = tl.load(x + i, mask=inside, other=0.0)",
    ),
    "tl.store(out + i, v, mask=inside)",
    "tl.store(out + c, v)",
    "at",
    True,
)


@dataclass
class Sweeps:
    """The body of a kernel that reads in one way; ``before`` are steps on all values read."""

    way: Way
    before: Sequence[str] = ()
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines += self.way.head

    def sweep(self, *body: str) -> None:
        """Append one sweep over all elements."""
        inner = [*self.way.load, *self.before, *body]
        self.lines += [self.way.loop, *(f"    {line}" for line in inner)]

    def fold(self, *folds: Fold) -> None:
        """Set each name to the sum, product, greatest or smallest over all elements, in one
        sweep."""
        inner = []
        for name, how, value in folds:
            self.lines.append(f"{name} = tl.full([BLOCK], {STARTS[how]}, tl.float32)")
            if self.way.is_blocked:
                value = f"tl.where(inside, {value}, {STARTS[how]})"
            if how in ("max", "min"):
                inner.append(f"{name} = tl.{how}imum({name}, {value})")
            else:
                inner.append(f"{name} {'+' if how == 'sum' else '*'}= {value}")
        self.sweep(*inner)
        if self.way.is_blocked:
            self.lines += [f"{name} = {ENDS[how]}({name}, 0)" for name, how, _ in folds]

    def find(self, found: Sequence[Found]) -> None:
        """Append folds, several per sweep, and the lines between them."""
        for each in found:
            if isinstance(each, str):
                self.lines.append(each)
            elif isinstance(each[0], str):
                self.fold(each)
            else:
                self.fold(*each)

    def write(self, *body: str) -> None:
        """Append a last sweep, with a result for every element."""
        self.sweep(*body, self.way.store)

    def text(self) -> str:
        return block(self.lines)
