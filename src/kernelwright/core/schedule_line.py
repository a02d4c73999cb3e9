"""The schedule line: the one line of a kernel's file that holds the constants of its schedule.

    TILE_M, TILE_N, TERMS, PRECISION, TILE_WARPS, STAGES = 64, 64, 32, "tf32x3", 8, 3

The code below it reads the constants by their names. So a policy's choice of a schedule is a few
tokens in one place, the code obeys it, and another schedule of the same program is the same text
with another line.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence

from kernelwright.core.digest import digest
from kernelwright.core.syntax import UNREADABLE, lines, parse

Value = int | str
Schedule = Mapping[str, Value]
LINE, OF = "line", "of"
"""The keys in the schedule of a trial or a proposal: its schedule line, and the digest of the
candidate whose text it replaces the line of."""
KNOBS: dict[str, tuple[Value, ...]] = {
    "ELEMENTS": (128, 256, 512, 1024, 2048, 4096, 8192),
    "COLUMNS": (16, 32, 64, 128, 256, 512),
    "WINDOWS": (64, 128, 256, 512, 1024, 2048),
    "WARPS": (1, 2, 4, 8, 16),
    "ROW_WARPS": (1, 2, 4, 8, 16),
    "TILE_M": (16, 32, 64, 128, 256),
    "TILE_N": (16, 32, 64, 128, 256),
    "TERMS": (16, 32, 64, 128),
    "PRECISION": ("ieee", "tf32x3"),
    "TILE_WARPS": (2, 4, 8, 16),
    "STAGES": (1, 2, 3, 4, 5),
}
"""The names that a schedule line may set, each with its values in order: neighbouring values are
one step apart. All values of a knob give equally accurate results."""

LANES = 32
"""Threads of a warp."""
FEWEST, MOST = 8, 128
"""Results of a tile that a thread holds at least, and results that it holds at most: it has 255
registers. With fewer, none of 40 schedules on an H200 was within 1.5 times of the fastest (grids of
lessons' products)."""
SHARED_BYTES = 227 << 10
"""The shared memory of a block. Source: CUDA C++ Programming Guide, technical specifications of
compute capability 9.0."""


def read(source: str) -> dict[str, Value]:
    """Return the schedule of a kernel's file; empty if the file has no schedule line.

    A line counts if it sets names of ``KNOBS``, each to one of its values, and if the code reads
    all of them.
    """
    line = _line(source)
    return {} if line is None else _schedule(line)


def rewritten(source: str, schedule: Schedule) -> str:
    """Return the same file under another schedule, which sets the same names.

    Raises:
        ValueError: the file has no schedule line, or the schedule sets other names or values.
    """
    line = _line(source)
    if line is None or _schedule(line).keys() != schedule.keys():
        raise ValueError(f"the file's schedule is {read(source)}, not one of {[*schedule]}")
    if any(value not in KNOBS[name] for name, value in schedule.items()):
        raise ValueError(f"a value of {dict(schedule)} is not among those of its knob")
    texts = lines(source)
    old = texts[line.lineno - 1]
    end = old[len(old.rstrip("\r\n")) :]
    texts[line.lineno - 1] = written({name: schedule[name] for name in _schedule(line)}) + end
    return "".join(texts)


def written(schedule: Schedule) -> str:
    """Return the line that sets a schedule."""
    values = (f'"{value}"' if isinstance(value, str) else str(value) for value in schedule.values())
    return f"{', '.join(schedule)} = {', '.join(values)}"


def program(source: str) -> str:
    """Return the digest of what a file is under every schedule; empty if it has no schedule
    line."""
    schedule = read(source)
    if not schedule:
        return ""
    return digest("program", rewritten(source, {name: KNOBS[name][0] for name in schedule}))


def neighbours(schedule: Schedule) -> Iterator[dict[str, Value]]:
    """Yield the schedules that differ by one step of one knob."""
    for name, value in schedule.items():
        values = KNOBS[name]
        at = values.index(value)
        for place in (at - 1, at + 1):
            if 0 <= place < len(values):
                yield {**schedule, name: values[place]}


def drawn(names: Sequence[str], draw: random.Random) -> dict[str, Value]:
    """Return a schedule of these names that fits a GPU; all are equally likely."""
    while True:
        schedule = {name: draw.choice(KNOBS[name]) for name in names}
        if fits(schedule):
            return schedule


def fits(schedule: Schedule) -> bool:
    """Whether a schedule fits the registers and the shared memory of a GPU, as far as its names
    say: others take long to compile, and spill, fail or leave most of the GPU idle."""

    def at(name: str, default: int = 1) -> int:
        return int(schedule.get(name, default))

    block, threads = max(at("ELEMENTS"), at("COLUMNS"), at("WINDOWS")), LANES * at("WARPS", 16)
    tile, tile_threads = at("TILE_M") * at("TILE_N"), LANES * at("TILE_WARPS", 16)
    loaded = 4 * at("TERMS") * (at("TILE_M") + at("TILE_N")) * max(1, at("STAGES") - 1)
    is_busy = "TILE_WARPS" not in schedule or tile >= FEWEST * tile_threads
    is_held = block <= MOST * threads and tile <= MOST * tile_threads
    return is_busy and is_held and loaded <= SHARED_BYTES


def _line(source: str) -> ast.Assign | None:
    """Return the file's schedule line; None if it has none, or more than one."""
    try:
        tree = parse(source)
    except UNREADABLE:
        return None
    found = [node for node in tree.body if isinstance(node, ast.Assign) and _schedule(node)]
    if len(found) != 1 or not _has_own_line(found[0], source):
        return None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    n_set = sum(isinstance(node.ctx, ast.Store) and node.id in KNOBS for node in names)
    schedule = _schedule(found[0])
    return found[0] if schedule.keys() <= used and n_set == len(schedule) else None


def _has_own_line(node: ast.Assign, source: str) -> bool:
    """Whether a statement is all of its line, apart from a comment: ``rewritten`` replaces the
    line."""
    try:
        body = parse(lines(source)[node.lineno - 1]).body
    except UNREADABLE:  # a part of a statement that spans several lines
        return False
    return len(body) == 1 and ast.dump(body[0]) == ast.dump(node)


def _schedule(node: ast.Assign) -> dict[str, Value]:
    """Return what an assignment sets, if these are knobs and all values are among theirs."""
    if len(node.targets) != 1:
        return {}
    (target,) = node.targets
    pairs = (
        [*zip(target.elts, node.value.elts, strict=False)]
        if isinstance(target, ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        and len(target.elts) == len(node.value.elts)
        else [(target, node.value)]
    )
    found: dict[str, Value] = {}
    for name, value in pairs:
        if not isinstance(name, ast.Name) or not isinstance(value, ast.Constant):
            return {}
        is_known = type(value.value) in (int, str) and value.value in KNOBS.get(name.id, ())
        if not is_known or name.id in found:
            return {}
        found[name.id] = value.value  # type: ignore[assignment]
    return found
