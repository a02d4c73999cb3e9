"""Kernels that go over what belongs together some times: each time a loop over blocks.

Rows, segments and channels are read by all lanes of a program, in blocks; columns one by one, each
lane its own. So any length is right, and what neighbours in memory is read together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.suites.composed.lessons.page import block

Fold = tuple[str, str, str]  # the name, how, of what
Found = Fold | tuple[Fold, ...] | str
STARTS = {"sum": "0.0", "max": 'float("-inf")', "min": 'float("inf")', "product": "1.0"}
ENDS = {"sum": "tl.sum", "max": "tl.max", "min": "tl.min"}


@dataclass(frozen=True)
class Way:
    """How a kernel reads: what is at its head, its loop, and the lines that load ``v``."""

    head: tuple[str, ...]
    loop: str
    load: tuple[str, ...]
    store: str
    result: str
    """Stores one value for all that belongs together."""
    number: str
    """Which element of those that belong together this is."""
    is_blocked: bool
    """Whether the lanes of a program hold parts of one result."""


BLOCKED = ("at = start + tl.arange(0, BLOCK)", "inside = at < length")
ROW = Way(
    ("row = tl.program_id(0)",), "for start in range(0, length, BLOCK):",
    (*BLOCKED, "v = tl.load(x + row * length + at, mask=inside, other=0.0)"),
    "tl.store(out + row * length + at, v, mask=inside)", "tl.store(out + row, v)", "at", True,
)  # fmt: skip
COLUMN = Way(
    (
        "batch = tl.program_id(0)", "column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)",
        "inside = column < width",
    ),
    "for r in range(0, length):",
    ("v = tl.load(x + (batch * length + r) * width + column, mask=inside, other=0.0)",),
    "tl.store(out + (batch * length + r) * width + column, v, mask=inside)",
    "tl.store(out + batch * width + column, v, mask=inside)", "r", False,
)  # fmt: skip
CHANNEL = Way(
    ("c = tl.program_id(0)",), "for start in range(0, length, BLOCK):",
    (
        *BLOCKED, "i = (at // inner * channels + c) * inner + at % inner",
        "v = tl.load(x + i, mask=inside, other=0.0)",
    ),
    "tl.store(out + i, v, mask=inside)", "tl.store(out + c, v)", "at", True,
)  # fmt: skip


@dataclass
class Sweeps:
    """The body of a kernel that reads in one way; ``before`` are steps on all that it reads."""

    way: Way
    before: Sequence[str] = ()
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines += self.way.head

    def sweep(self, *body: str) -> None:
        """Once over everything."""
        inner = [*self.way.load, *self.before, *body]
        self.lines += [self.way.loop, *(f"    {line}" for line in inner)]

    def fold(self, *folds: Fold) -> None:
        """Let each name be the sum, product, greatest or smallest over everything, in one go."""
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
        """Folds, several at a time, and lines between them."""
        for each in found:
            if isinstance(each, str):
                self.lines.append(each)
            elif isinstance(each[0], str):
                self.fold(each)
            else:
                self.fold(*each)

    def write(self, *body: str) -> None:
        """A last time, with a result for every element."""
        self.sweep(*body, self.way.store)

    def text(self) -> str:
        return block(self.lines)
