"""Implicit warp synchrony: lanes read values that other lanes just wrote, with no barrier between.

Such code assumes that 32 lanes run in lockstep. Each such statement is split into read, barrier,
write, barrier, which is correct at every width and under every schedule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, apply_edits, enclosing
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.hazards import in_device_code, spin_loops

REASON = "trusts that the lanes of a warp run in lockstep"
_FEW = re.compile(r"<\s*(32|warpSize|WARP_SIZE)\b|<=\s*31\b")


def in_step(text: str) -> str:
    """Return CUDA text as lockstep hardware would run it: the same statements are split, with a
    barrier of the active lanes between read and write."""
    source = Source(text.encode(errors="surrogateescape"))
    changes = warp_synchrony_changes(source, barrier="__activemask()")
    edits = [edit for change in changes for edit in change.edits]
    return apply_edits(source.text, edits).decode(errors="surrogateescape")


def in_waves(text: str) -> str:
    """Return HIP text as a wave would run it: lanes that have taken a lock wait, at the end of the
    loop that takes it, for the lanes that are still in the loop."""
    source = Source(text.encode(errors="surrogateescape"))
    edits = []
    for loop in spin_loops(source):
        edits += [
            Edit(loop.start_byte, loop.start_byte, "{ "),
            Edit(loop.end_byte, loop.end_byte, " __syncwarp(); }"),
        ]
    return apply_edits(source.text, edits).decode(errors="surrogateescape")


def warp_synchrony_changes(source: Source, *, barrier: str = "__syncwarp()") -> Iterator[Change]:
    """Yield a repair for every update of shared memory by neighbours' values without a barrier."""
    shared, volatile = _arrays(source)
    for index, node in enumerate(source.nodes("assignment_expression")):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or left.type != "subscript_expression" or right is None:
            continue
        name = source.text_of(left.child_by_field_name("argument"))
        if not re.search(rf"\b{re.escape(name)}\s*\[", source.text_of(right)):
            continue
        few = name in shared and _few_lanes(source, node) and not _barrier_near(source, node)
        if (name in volatile or few) and in_device_code(source, node):
            yield from _split(source, node, (left, right), f"port_value_{index}", barrier)


def _arrays(source: Source) -> tuple[set[str], set[str]]:
    """Return the names declared ``__shared__``, and the names declared ``volatile``, in the
    file."""
    shared, volatile = set(), set()
    for node in source.nodes("declaration", "parameter_declaration"):
        head = source.text_of(node)
        names = {
            source.text_of(i) for i in _identifiers(node) if i.parent.type.endswith("declarator")
        }
        if re.search(r"\b__shared__\b", head):
            shared |= names
        if re.match(r"[^=(]*\bvolatile\b", head):
            volatile |= names
    return shared, volatile


def _identifiers(node: Any) -> Iterator[Any]:
    for child in node.children:
        if child.type == "identifier":
            yield child
        elif child.type not in ("compound_statement", "initializer_list"):
            yield from _identifiers(child)


def _few_lanes(source: Source, node: Any) -> bool:
    """Return whether the statement is guarded by a condition that only one warp satisfies."""
    guard = enclosing(node, "if_statement")
    while guard is not None:
        condition = guard.child_by_field_name("condition")
        if condition is not None and _FEW.search(source.text_of(condition)):
            return True
        guard = enclosing(guard, "if_statement")
    return False


def _barrier_near(source: Source, node: Any) -> bool:
    """Return whether a barrier directly follows the statement."""
    statement = node.parent
    following = statement.next_named_sibling if statement is not None else None
    return following is not None and "__sync" in source.text_of(following)[:40]


def _split(
    source: Source, node: Any, sides: tuple[Any, Any], value: str, barrier: str
) -> Iterator[Change]:
    (left, right), statement = sides, node.parent
    if statement.type != "expression_statement":
        yield Change(
            Finding(
                source.line(node),
                State.CHANGED,
                "implicit warp synchrony",
                reason=REASON,
                advice="put __syncwarp() between the lanes' reads and writes",
            )
        )
        return
    brace, close = ("{ ", " }")
    edits = (
        Edit(node.start_byte, node.start_byte, f"{brace}const auto {value} = "),
        Edit(left.start_byte, right.start_byte, ""),
        Edit(
            right.end_byte,
            statement.end_byte,
            f"; {barrier}; {source.exact(left.start_byte, right.start_byte)}{value}; "
            f"{barrier};{close}",
        ),
    )
    found = Finding(
        source.line(node), State.REPAIRED, "implicit warp synchrony", "__syncwarp()", REASON
    )
    yield Change(found, edits)
