"""Cooperative groups: functions that HIP lacks are written with a group's shuffles and barriers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, arguments, enclosing
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.hazards import in_device_code

OPERATIONS = ("plus", "less", "greater", "bit_and", "bit_or", "bit_xor")
WRITTEN = {
    "reduce": ("port_group_reduce", (3,), "group_reduce"),
    "inclusive_scan": ("port_group_inclusive_scan", (2, 3), "group_scan"),
    "exclusive_scan": ("port_group_exclusive_scan", (2, 3), "group_scan"),
    "memcpy_async": ("port_group_copy", (4,), "group_copy"),
    "wait": ("port_group_wait", (1,), "group_copy"),
    "wait_prior": ("port_group_wait", (1,), "group_copy"),
}
"""Functions that the port defines: name, accepted numbers of arguments, and the helper they
need."""
KNOWN = {
    "thread_group", "thread_block", "grid_group", "multi_grid_group", "tiled_group",
    "coalesced_group", "thread_block_tile", "this_thread", "this_thread_block", "this_grid",
    "this_multi_grid", "coalesced_threads", "tiled_partition", "binary_partition", "group_size",
    "thread_rank", "is_valid", "sync",
}  # fmt: skip
"""Names that HIP's cooperative groups have. Source: hip_cooperative_groups.h of ROCm 6.3."""
ABSENT = (
    *WRITTEN, "reduce_update_async", "reduce_store_async", "invoke_one", "invoke_one_broadcast",
    "labeled_partition", "this_cluster", "cluster_group",
)  # fmt: skip
"""Names that HIP lacks, and that a file which opens the namespace may use unqualified."""
GROUPS = "cooperative_groups"
_ALIAS = re.compile(rf"namespace\s+(\w+)\s*=\s*(?:::)?\s*{GROUPS}\s*;")
_OPENED = re.compile(rf"using\s+namespace\s+(?:::)?{GROUPS}\s*;")


def group_changes(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Yield every use of cooperative groups that HIP has in another form, or not at all."""
    if GROUPS.encode() not in source.text and b"cg::" not in source.text:
        return
    text = source.text.decode(errors="replace")
    others = {source.text_of(n.named_children[0]) for n in source.nodes("namespace_definition")}
    spaces = "|".join(sorted(({"cg"} - others) | {GROUPS, *_ALIAS.findall(text)}))
    named = re.compile(rf"(?P<space>(?:::)?(?:{spaces})\s*::\s*)?(?P<name>\w+)(?:\s*<.*>)?", re.S)
    is_opened = _OPENED.search(text) is not None
    spoken: set[int] = set()
    for call in source.nodes("call_expression"):
        function = call.child_by_field_name("function")
        match = named.fullmatch(source.text_of(function)) if function is not None else None
        if match is None:
            continue
        is_alone = is_opened and match["name"] not in own and not _is_on_host(source, call)
        if not (match["space"] or is_alone):
            continue
        if match["name"] == "coalesced_threads":
            yield Change(_coalesced(source, call))
        if match["name"] in ABSENT:
            change = _written(source, call, match["name"], named)
            spoken |= {edit.start for edit in change.edits} | {function.start_byte}
            yield change
    yield from _unknown(source, named, spoken)


def _is_on_host(source: Source, call: Any) -> bool:
    """Return whether the call is in a host function, where ``wait`` and ``reduce`` are other
    functions."""
    return enclosing(call, "function_definition") is not None and not in_device_code(source, call)


def _written(source: Source, call: Any, name: str, named: re.Pattern[str]) -> Change:
    """Replace the call by our function, or report it if our function does not cover this form."""
    function, given = call.child_by_field_name("function"), arguments(call)
    became, counts, need = WRITTEN.get(name, ("", (), ""))
    edits: list[Edit | None] = [Edit(function.start_byte, function.end_byte, became)]
    if len(given) == 3 and len(counts) and counts[-1] == 3:
        edits.append(_operation(source, given[2], named))
    if len(given) not in counts or None in edits:
        return Change(_unported(source, function))
    found = Finding(
        source.line(call),
        State.REPAIRED,
        source.text_of(function),
        became,
        "HIP's cooperative groups lack it; written with the group's shuffles and barriers",
    )
    return Change(found, tuple(edit for edit in edits if edit), (need,))


def _unported(source: Source, node: Any) -> Finding:
    return Finding(
        source.line(node),
        State.UNPORTED,
        source.text_of(node),
        reason="HIP's cooperative groups have no such operation",
        advice="write it with the group's shuffles or barriers",
    )


def _unknown(source: Source, named: re.Pattern[str], spoken: set[int]) -> Iterator[Change]:
    """Yield names of the namespace that neither HIP nor the port has."""
    known = KNOWN | set(OPERATIONS)
    for node in source.nodes("qualified_identifier"):
        match = named.fullmatch(source.text_of(node))
        if match is None or not match["space"] or match["name"] in known:
            continue
        if node.start_byte not in spoken:
            yield Change(_unported(source, node))


def _coalesced(source: Source, call: Any) -> Finding:
    return Finding(
        source.line(call),
        State.CHANGED,
        "coalesced_threads",
        "coalesced_threads",
        "the group has up to 64 threads on a wave of 64: sizes and ranks can exceed 32 there",
        "if 32 is meant, use tiled_partition<32> of the block first",
    )


def _operation(source: Source, node: Any, named: re.Pattern[str]) -> Edit | None:
    """Return the edit that renames an operation to ours; other functors and lambdas stay."""
    text = source.text_of(node)
    name = text.partition("<")[0].partition("(")[0].strip()
    match = named.fullmatch(name)
    if match is None or match["name"] not in OPERATIONS:
        is_own = match is None or not match["space"]
        return Edit(node.start_byte, node.start_byte, "") if is_own else None
    return Edit(node.start_byte, node.start_byte + len(name.encode()), f"port_{match['name']}")
