"""Namespaces of CUDA: CUB's and Thrust's have counterparts, libcu++'s has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State

NAMESPACES = {"hip": {"cub": "hipcub"}, "cuda": {"hipcub": "cub"}}
_THRUST = re.compile(r"(::)?\s*thrust\s*::\s*(system\s*::\s*)?")
INSIDE_THRUST = {"hip": "cuda", "cuda": "hip"}


def namespace_changes(source: Source, own: frozenset[str], to: str) -> Iterator[Change]:
    """Yield every namespace of the source side, except those that the program declares."""
    for node in source.nodes("namespace_identifier", "identifier"):
        name = source.text_of(node)
        is_name = node.type == "namespace_identifier" or node.parent.type == "using_declaration"
        if not is_name or name in own:
            continue
        if became := NAMESPACES[to].get(name):
            yield _renamed(source, node, became)
        elif name == INSIDE_THRUST[to] and _THRUST.fullmatch(before(source, node)):
            yield _renamed(source, node, to)
        elif name == "cuda" and to == "hip" and before(source, node) in ("", "::"):
            yield Change(
                Finding(
                    source.line(node),
                    State.UNPORTED,
                    _whole(source, node),
                    reason="ROCm has no libcu++",
                    advice="use __hip_atomic_... for cuda::atomic, std:: for cuda::std::",
                ),
                at=node.start_byte,
            )


def before(source: Source, node: Any) -> str:
    """Return the qualifiers before a name, such as 'thrust::system::'."""
    return source.exact(_outer(node).start_byte, node.start_byte)


def _renamed(source: Source, node: Any, became: str) -> Change:
    edit = Edit(node.start_byte, node.end_byte, became)
    found = Finding(source.line(node), State.TRANSLATED, f"{source.text_of(node)}::", f"{became}::")
    return Change(found, (edit,), at=node.start_byte)


def _outer(node: Any) -> Any:
    while node.parent is not None and node.parent.type == "qualified_identifier":
        node = node.parent
    return node


def _whole(source: Source, node: Any) -> str:
    return source.text_of(_outer(node)).split("<")[0]
