"""Constructs that HIP gives in another form: group reductions, and overloads it already has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, arguments
from kernelwright.propose.port.calls import Change
from kernelwright.propose.port.finding import Finding, State

OPERATIONS = ("plus", "less", "greater", "bit_and", "bit_or", "bit_xor")
ABSENT = (
    "reduce", "reduce_update_async", "inclusive_scan", "exclusive_scan", "memcpy_async", "wait",
    "wait_prior", "invoke_one", "invoke_one_broadcast", "labeled_partition",
    "this_cluster", "cluster_group", "this_multi_grid",
)  # fmt: skip
"""Functions of CUDA's cooperative groups that HIP 7.1 does not document."""
OVERLOADS = re.compile(r"atomic(Add\s*\(\s*double|(Min|Max)\s*\(\s*(float|double))\s*\*")
"""Atomics on floating numbers that HIP declares. Source: HIP 7.1, amd_hip_atomic.h."""
GROUPS = "cooperative_groups"
_ALIAS = re.compile(rf"namespace\s+(\w+)\s*=\s*(?:::)?\s*{GROUPS}\s*;")
_OPENED = re.compile(rf"using\s+namespace\s+(?:::)?{GROUPS}\s*;")


def replacement_changes(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Every construct of a CUDA file that HIP has in another form."""
    if GROUPS.encode() in source.text or b"cg::" in source.text:
        yield from _group_reductions(source, own)
    yield from _own_overloads(source)
    yield from _default_stream(source)


def _groups_named(source: Source) -> re.Pattern[str]:
    """Names in the namespace of cooperative groups, as this file writes them.

    A file that opens the namespace may write them alone.
    """
    text = source.text.decode(errors="replace")
    spaces = "|".join(sorted({"cg", GROUPS, *_ALIAS.findall(text)}))
    end = "?" if _OPENED.search(text) else ""
    return re.compile(rf"(?:(?:{spaces})\s*::\s*){end}(\w+)(?:\s*<.*>)?", re.DOTALL)


def _group_reductions(source: Source, own: frozenset[str]) -> Iterator[Change]:
    named = _groups_named(source)
    for call in source.nodes("call_expression"):
        function = call.child_by_field_name("function")
        match = named.fullmatch(source.text_of(function)) if function is not None else None
        given = arguments(call)
        if match is None or match[1] in own:
            continue
        if match[1] == "coalesced_threads":
            yield Change(_coalesced(source, call))
        if match[1] not in ABSENT:
            continue
        operation = None
        if match[1] == "reduce" and len(given) == 3:
            operation = _operation(source, given[2], named)
        if operation is None:
            yield Change(
                Finding(
                    source.line(call), State.UNPORTED, source.text_of(function),
                    reason="HIP's cooperative groups have no such operation",
                    advice="write it with the group's shuffles or barriers",
                )
            )  # fmt: skip
            continue
        edits = (Edit(function.start_byte, function.end_byte, "port_group_reduce"), operation)
        found = Finding(
            source.line(call), State.REPAIRED, source.text_of(function), "port_group_reduce",
            "HIP's cooperative groups have no reduce; written with the tile's shuffles",
        )  # fmt: skip
        yield Change(found, edits, ("group_reduce",))


def _coalesced(source: Source, call: Any) -> Finding:
    return Finding(
        source.line(call), State.CHANGED, "coalesced_threads", "coalesced_threads",
        "a group of up to 64 threads on a wave of 64: sizes and ranks go beyond 32 there",
        "where 32 is meant, take tiled_partition<32> of the block first",
    )  # fmt: skip


def _operation(source: Source, node: Any, named: re.Pattern[str]) -> Edit | None:
    """The operation's name without its namespace, as that of our own."""
    text = source.text_of(node)
    name = text.partition("<")[0].partition("(")[0].strip()
    match = named.fullmatch(name)
    if match is None or match[1] not in OPERATIONS:
        return None
    return Edit(node.start_byte, node.start_byte + len(name.encode()), f"port_{match[1]}")


def _own_overloads(source: Source) -> Iterator[Change]:
    """Definitions of atomics that HIP has itself: left out there, or they are defined twice."""
    for node in source.nodes("function_definition"):
        declarator = node.child_by_field_name("declarator")
        if declarator is None or not OVERLOADS.match(source.text_of(declarator)):
            continue
        name = source.text_of(declarator).split("(")[0].strip()
        at = source.text.rfind(b"\n", 0, node.start_byte) + 1
        edits = (
            Edit(at, at, "#ifndef __HIP__  // HIP has this overload\n"),
            Edit(node.end_byte, node.end_byte, "\n#endif"),
        )
        found = Finding(
            source.line(node), State.REPAIRED, f"definition of {name}", "",
            "HIP has an atomic of this name and type itself",
        )  # fmt: skip
        yield Change(found, edits)


def _default_stream(source: Source) -> Iterator[Change]:
    """The switch that gives each thread a default stream of its own, defined by the program."""
    for node in source.nodes("preproc_def"):
        name = node.child_by_field_name("name")
        if name is None or source.text_of(name) != "CUDA_API_PER_THREAD_DEFAULT_STREAM":
            continue
        became = "HIP_API_PER_THREAD_DEFAULT_STREAM"
        found = Finding(source.line(node), State.TRANSLATED, source.text_of(name), became)
        yield Change(found, (Edit(name.start_byte, name.end_byte, became),), at=name.start_byte)
