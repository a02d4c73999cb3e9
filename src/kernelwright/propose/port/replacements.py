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
_GROUPS = re.compile(r"(cg|cooperative_groups)\s*::\s*(\w+)")


def replacement_changes(source: Source) -> Iterator[Change]:
    """Every construct of a CUDA file that HIP has in another form."""
    yield from _group_reductions(source)
    yield from _own_overloads(source)
    yield from _default_stream(source)


def _group_reductions(source: Source) -> Iterator[Change]:
    for call in source.nodes("call_expression"):
        function = call.child_by_field_name("function")
        match = _GROUPS.fullmatch(source.text_of(function)) if function is not None else None
        given = arguments(call)
        if match is None or match[2] not in ABSENT:
            continue
        operation = None
        if match[2] == "reduce" and len(given) == 3:
            operation = _operation(source, given[2])
        if operation is None:
            yield Change(
                Finding(
                    source.line(call), State.UNPORTED, f"{match[1]}::{match[2]}",
                    reason="HIP's cooperative groups have no such operation",
                    advice="write it with the group's shuffles or barriers",
                )
            )  # fmt: skip
            continue
        edits = (Edit(function.start_byte, function.end_byte, "port_group_reduce"), operation)
        found = Finding(
            source.line(call), State.REPAIRED, f"{match[1]}::reduce", "port_group_reduce",
            "HIP's cooperative groups have no reduce; written with the tile's shuffles",
        )  # fmt: skip
        yield Change(found, edits, ("group_reduce",))


def _operation(source: Source, node: Any) -> Edit | None:
    """The operation's name without its namespace, as that of our own."""
    match = _GROUPS.match(source.text_of(node))
    if match is None or match[2] not in OPERATIONS:
        return None
    return Edit(node.start_byte, node.start_byte + len(match[0].encode()), f"port_{match[2]}")


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
