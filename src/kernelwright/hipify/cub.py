"""CUB's warps have 32 lanes in the port; hipCUB's have the wave's width unless it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, callee, callee_node
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.namespaces import before

WITH_WIDTH = {
    ("WarpReduce", 1): ", 32", ("WarpScan", 1): ", 32",
    ("WarpExchange", 2): ", 32", ("WarpMergeSort", 2): ", 32",
    ("WarpLoad", 2): ", hipcub::WARP_LOAD_DIRECT, 32", ("WarpLoad", 3): ", 32",
    ("WarpStore", 2): ", hipcub::WARP_STORE_DIRECT, 32", ("WarpStore", 3): ", 32",
}  # fmt: skip
"""Class and number of template arguments → the further arguments that give the width. Source:
hipCUB's API reference, ROCm 7.0; LOGICAL_WARP_THREADS defaults to HIPCUB_DEVICE_WARP_THREADS."""
WIDTHS = {"CUB_PTX_WARP_THREADS": "32", "CUB_PTX_LOG_WARP_THREADS": "5"}
_ALIAS = re.compile(r"namespace\s+(\w+)\s*=\s*(?:::)?\s*cub\s*;")
_OPENED = re.compile(r"using\s+namespace\s+(?:::\s*)?cub\s*;")


def cub_changes(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Yield every use of CUB that depends on the width of a warp, or counts its lanes."""
    for node in source.nodes("template_type", "template_function"):
        name = source.text_of(node.child_by_field_name("name"))
        listed = node.child_by_field_name("arguments")
        width = WITH_WIDTH.get((name, len(listed.named_children)))
        if width is not None and _is_cubs(source, node, name, own):
            edit = Edit(listed.end_byte - 1, listed.end_byte - 1, width)
            yield _repaired(source, node, f"cub::{name}", "width 32", (edit,))
    for call in source.nodes("call_expression"):
        if callee(source, call) == "LaneId" and _is_cubs(source, callee_node(call), "LaneId", own):
            around = (
                Edit(call.start_byte, call.start_byte, "("),
                Edit(call.end_byte, call.end_byte, " & 31)"),
            )
            yield _repaired(source, call, "cub::LaneId", "& 31", around)
    for node in source.nodes("identifier"):
        name = source.text_of(node)
        if name in WIDTHS:
            edit = Edit(node.start_byte, node.end_byte, f"{WIDTHS[name]} /*{name}*/")
            yield _repaired(source, node, name, WIDTHS[name], (edit,), at=node.start_byte)


def _is_cubs(source: Source, node: Any, name: str, own: frozenset[str]) -> bool:
    """Return whether a name is CUB's: by its namespace, an alias of it, or a using directive in the
    file."""
    text = source.text.decode(errors="replace")
    spaces = "|".join(["cub", *_ALIAS.findall(text)])
    start = before(source, node)
    if start:
        return re.fullmatch(rf"(::\s*)?({spaces})\s*::\s*(template\s+)?", start) is not None
    used = re.search(rf"using\s+(::\s*)?cub\s*::\s*{name}\s*;", text)
    return name not in own and bool(used or _OPENED.search(text))


def _repaired(
    source: Source, node: Any, construct: str, became: str, edits: tuple[Edit, ...], at: int = -1
) -> Change:
    reason = "its default width is the wave's, 64 on most AMD targets"
    found = Finding(source.line(node), State.REPAIRED, construct, became, reason)
    return Change(found, edits, at=at)
