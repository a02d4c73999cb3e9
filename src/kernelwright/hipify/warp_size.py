"""``warpSize`` is 32 in the port, whose warps are logical ones; the program's own names stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, arguments, callee, enclosing
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.names import LOCAL_SCOPES, WARP_SIZE, declares

REASON = "64 on most AMD targets; the port's warps are logical warps of 32 lanes everywhere"
_CLASSES = ("struct_specifier", "class_specifier")
_WRITES = ("update_expression", "pointer_expression")


def warp_size_changes(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Yield uses of CUDA's variable, and of the member of a device's properties."""
    for node in source.nodes("identifier", "field_identifier"):
        if source.text_of(node) != WARP_SIZE or _is_own(source, node, own):
            continue
        whole = node.parent if node.type == "field_identifier" else node
        edit = Edit(whole.start_byte, whole.end_byte, "32 /*warpSize*/")
        found = Finding(source.line(node), State.REPAIRED, WARP_SIZE, "32", REASON)
        yield Change(found, (edit,), at=node.start_byte)


def width_query_changes(source: Source) -> Iterator[Change]:
    """Yield queries of a device's warp size by attribute, which return the logical width as
    well."""
    for call in source.nodes("call_expression"):
        name, given = callee(source, call), arguments(call)
        if name not in ("cudaDeviceGetAttribute", "cuDeviceGetAttribute") or len(given) != 3:
            continue
        asked = source.text_of(given[1])
        if asked not in ("cudaDevAttrWarpSize", "CU_DEVICE_ATTRIBUTE_WARP_SIZE"):
            continue
        became = f"(*({source.text_of(given[0])}) = 32 /*warpSize*/, hipSuccess)"
        edit = Edit(call.start_byte, call.end_byte, became)
        found = Finding(source.line(call), State.REPAIRED, asked, "32", REASON)
        yield Change(found, (edit,), at=given[1].start_byte)


def is_device_property(source: Source, access: Any) -> bool:
    """Return whether the object is one that the file declares as a device's properties."""
    words = re.findall(r"\w+", source.text_of(access.child_by_field_name("argument")))
    text = source.text.decode(errors="replace")
    return any(re.search(rf"\bcudaDeviceProp\b[^;(){{}}]*\b{word}\b", text) for word in words)


def _is_own(source: Source, node: Any, own: frozenset[str]) -> bool:
    """Return whether the name is a member, a variable or a parameter that the program declares."""
    member = f".{WARP_SIZE}"
    if node.type == "field_identifier":
        access = node.parent
        if access.type != "field_expression" or _is_written(access):
            return True
        return member in own and not is_device_property(source, access)
    if WARP_SIZE in own or declares(source, node) or _is_local(source, node):
        return True
    function = enclosing(node, "function_definition")
    head = source.text_of(function).partition("{")[0] if function is not None else ""
    return member in own and ("::" in head or enclosing(node, *_CLASSES) is not None)


def _is_written(access: Any) -> bool:
    outer = access.parent
    is_left = outer.type == "assignment_expression" and (
        outer.child_by_field_name("left").id == access.id
    )
    return is_left or outer.type in _WRITES


def _is_local(source: Source, node: Any) -> bool:
    """Return whether an enclosing function or template declares the name."""
    around, scope = set(), enclosing(node, *LOCAL_SCOPES)
    while scope is not None:
        around.add(scope.id)
        scope = enclosing(scope, *LOCAL_SCOPES)
    return any(
        source.text_of(other) == WARP_SIZE
        and declares(source, other)
        and (scope := enclosing(other, *LOCAL_SCOPES)) is not None
        and scope.id in around
        for other in source.nodes("identifier")
    )
