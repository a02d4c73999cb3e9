"""Constructs of HIP that compile as CUDA and then compute something else, or do not exist there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, arguments, callee, enclosing
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.hazards import in_device_code, launch_bounds_changes

FIELDS = ("gcnArch", "gcnArchName", "asicRevision")
"""Members of a device's properties that only HIP has. Source: HIP 7.1, hip_runtime_api.h."""
WARP = 32
SHUFFLES = ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor")
_DYNAMIC = re.compile(rb"HIP_DYNAMIC_SHARED\s*\(\s*([^,()]+?)\s*,\s*(\w+)\s*\)(\s*;)?")
_NUMBER = re.compile(r"(?:0x[0-9a-fA-F]+|\d+)[uUlL]*")
_WAVE = {("%", 64), ("/", 64), ("*", 64), ("&", 63), (">>", 6), ("<<", 6)}
_LANES = re.compile(r"threadIdx|hipThreadIdx|\btid\b|lane|wave|warp|\bt[id]?x\b", re.IGNORECASE)
WIDER = "waves have 64 lanes on most AMD targets, CUDA's warps have 32"
REWRITE = "rewrite it for warps of 32 lanes, or by warpSize"


def return_changes(source: Source) -> Iterator[Change]:
    """Yield every construct of a HIP file that needs more than another name in CUDA."""
    yield from _dynamic_shared(source)
    yield from _fields(source)
    yield from launch_bounds_changes(source)
    yield from _wide_shuffles(source)
    yield from _wide_ballots(source)
    yield from _wide_arithmetic(source)


def _dynamic_shared(source: Source) -> Iterator[Change]:
    """Yield HIP's macro for dynamic shared memory, which may stand without a semicolon."""
    for match in _DYNAMIC.finditer(source.living):
        kind, name = match[1].decode(), match[2].decode()
        became = f"extern __shared__ {kind} {name}[];"
        line = source.text.count(b"\n", 0, match.start()) + 1
        found = Finding(line, State.TRANSLATED, "HIP_DYNAMIC_SHARED", became)
        yield Change(found, (Edit(match.start(), match.end(), became),), at=match.start())


def _fields(source: Source) -> Iterator[Change]:
    for node in source.nodes("field_identifier"):
        name = source.text_of(node)
        if name in FIELDS and node.parent.type == "field_expression":
            reason = "CUDA's device properties have no such member"
            advice = "decide by major and minor, or by the property that is meant"
            yield _left(source, node, name, reason, advice)


def _left(source: Source, node: Any, what: str, reason: str, advice: str) -> Change:
    found = Finding(source.line(node), State.UNPORTED, what, "", reason, advice)
    return Change(found)


def _wide_shuffles(source: Source) -> Iterator[Change]:
    """Yield shuffles of more than 32 lanes: by their width, by a distance, or in a loop whose
    distance begins at 32 or more."""
    for call in source.nodes("call_expression"):
        name, given = callee(source, call), arguments(call)
        if name.removesuffix("_sync") not in SHUFFLES or len(given) < 2:
            continue
        by_mask = name.endswith("_sync")
        distance, width = given[1 + by_mask : 2 + by_mask], given[2 + by_mask : 3 + by_mask]
        if any((_number(source, node) or 0) > WARP for node in width):
            yield _left(source, call, f"{name} of 64 lanes", WIDER, REWRITE)
        elif not width and any(_reach(source, call, node) >= WARP for node in distance):
            yield _left(source, call, f"{name} over 32 lanes", WIDER, REWRITE)


def _number(source: Source, node: Any) -> int | None:
    text = source.text_of(node)
    return int(text.rstrip("uUlL"), 0) if _NUMBER.fullmatch(text) else None


def _reach(source: Source, call: Any, distance: Any) -> int:
    """Return the distance of a shuffle, if it is written there or where a loop's variable begins;
    0 if it is not known."""
    number = _number(source, distance)
    if number is not None:
        return number
    loop = enclosing(call, "for_statement")
    start = loop.child_by_field_name("initializer") if loop is not None else None
    if start is None:
        return 0
    first = re.search(
        rf"\b{re.escape(source.text_of(distance))}\s*=\s*({_NUMBER.pattern})\s*(/\s*2|>>\s*1)?",
        source.text_of(start),
    )
    if first is None:
        return 0
    return int(first[1].rstrip("uUlL"), 0) // (2 if first[2] else 1)


def _wide_ballots(source: Source) -> Iterator[Change]:
    """Yield ballots whose upper half is used: CUDA's have 32 bits."""
    for call in source.nodes("call_expression"):
        if callee(source, call) not in ("__ballot", "__ballot_sync", "__activemask"):
            continue
        outer = call.parent
        operator = outer.child_by_field_name("operator") if outer is not None else None
        right = outer.child_by_field_name("right") if operator is not None else None
        by = _number(source, right) if right is not None else None
        if operator is not None and source.text_of(operator) == ">>" and (by or 0) >= WARP:
            yield _left(source, call, "upper half of a ballot", WIDER, REWRITE)
    for call in source.nodes("call_expression"):
        if callee(source, call) in ("__popcll", "__ffsll", "__clzll") and any(
            callee(source, a) == "__ballot" for a in arguments(call) if a.type == "call_expression"
        ):
            what = f"{callee(source, call)} of a ballot"
            found = Finding(
                source.line(call),
                State.CHANGED,
                what,
                what,
                "a ballot has 32 bits in CUDA, one for each lane of a warp",
                "check that 64 lanes are not counted on",
            )
            yield Change(found)


def _wide_arithmetic(source: Source) -> Iterator[Change]:
    for node in source.nodes("binary_expression"):
        operator = node.child_by_field_name("operator")
        right = node.child_by_field_name("right")
        if operator is None or right is None or not in_device_code(source, node):
            continue
        if (source.text_of(operator), _number(source, right)) not in _WAVE:
            continue
        text = source.text_of(node)
        if _LANES.search(text):
            reason = f"it may count the lanes of a wave: {WIDER}"
            advice = "check whether 64 means the wave"
            yield Change(Finding(source.line(node), State.CHANGED, text, text, reason, advice))
