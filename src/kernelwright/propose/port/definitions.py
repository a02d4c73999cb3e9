"""Functions that a program defines and HIP has itself: left out there, or calls are ambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source
from kernelwright.propose.port.calls import Change
from kernelwright.propose.port.finding import Finding, State

OVERLOADS = re.compile(r"atomic(Add\s*\(\s*double|(Min|Max)\s*\(\s*(float|double))\s*\*")
"""Atomics on floating numbers that HIP declares. Source: HIP 7.1, amd_hip_atomic.h."""
ONE_IN_HIP = {
    "CUresult": "cudaError_t", "cudaError": "cudaError_t", "CUstream": "cudaStream_t",
    "CUevent": "cudaEvent_t", "CUdevice": "int",
}  # fmt: skip
"""Types of the driver that HIP has not apart from the runtime's. Source: the tables' rows."""
_AMD = "__HIP_PLATFORM_AMD__"
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1234]")
_NAME = re.compile(r"operator\s*([-+*/]=?|[%&|^]=?)$")
_WORDS = re.compile(r"\b(const|struct|inline)\b|&")


def definition_changes(source: Source) -> Iterator[Change]:
    """Definitions that differ from HIP's in nothing are left out there; others are reported."""
    seen: set[tuple[str, ...]] = set()
    for node in source.nodes("function_definition"):
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type.endswith(
            ("reference_declarator", "pointer_declarator")
        ):
            declarator = declarator.named_children[-1]
        if declarator is None or declarator.type != "function_declarator":
            continue
        name, types = (
            declarator.child_by_field_name("declarator"),
            _parameter_types(source, declarator),
        )
        signature = (source.text_of(name), *(ONE_IN_HIP.get(t, t) for t in types))
        if set(types) & ONE_IN_HIP.keys() and signature in seen:
            reason = "it is the overload before: the runtime's and the driver's type are one in HIP"
            yield _left_out(source, node, signature[0], reason, "__HIP__")
            continue
        seen.add(signature)
        if OVERLOADS.match(source.text_of(declarator)):
            name = source.text_of(declarator).split("(")[0].strip()
            reason = "HIP has an atomic of this name and type itself"
            yield _left_out(source, node, name, reason)
        else:
            yield from _vector_operator(source, node, declarator)


def _left_out(source: Source, node: Any, name: str, reason: str, unless: str = _AMD) -> Change:
    """The definition between guards of the preprocessor, on lines of their own."""
    at = source.text.rfind(b"\n", 0, node.start_byte) + 1
    before = source.text[at : node.start_byte]
    if before.strip():  # something else begins on the line
        at = node.start_byte
    open_ = f"#ifndef {unless}  // HIP has it itself\n"
    edits = (
        Edit(at, at, ("\n" if before.strip() else "") + open_),
        Edit(node.end_byte, node.end_byte, "\n#endif\n" if _goes_on(source, node) else "\n#endif"),
    )
    found = Finding(source.line(node), State.REPAIRED, f"definition of {name}", "", reason)
    return Change(found, edits)


def _goes_on(source: Source, node: Any) -> bool:
    """Whether something follows the definition on its line."""
    newline = source.text.find(b"\n", node.end_byte)
    return bool(source.text[node.end_byte : newline if newline >= 0 else None].strip())


def _vector_operator(source: Source, node: Any, declarator: Any) -> Iterator[Change]:
    """HIP's vector types have these operators as functions that are no templates: a product and a
    quotient of two vectors, compound assignments by a vector, and the sign. Other operators of HIP
    are templates, before which a program's own come.
    Source: HIP 7.1, amd_hip_vector_types.h.
    """
    name = _NAME.search(source.text_of(declarator.child_by_field_name("declarator")))
    types = _parameter_types(source, declarator)
    if name is None or not _is_hips(name[1], types):
        return
    construct = f"operator{name[1]} of {types[0]}"
    if _is_by_elements(source.text_of(node.child_by_field_name("body")), name[1]):
        reason = "HIP's vector types have this operator themselves"
        yield _left_out(source, node, construct, reason)
        return
    found = Finding(
        source.line(node), State.UNPORTED, construct,
        reason="HIP's vector types have this operator themselves, element by element: calls "
        "are ambiguous, and the two compute different things",
        advice="give the function a name",
    )  # fmt: skip
    yield Change(found)


def _parameter_types(source: Source, declarator: Any) -> list[str]:
    listed = declarator.child_by_field_name("parameters")
    found = [c for c in listed.named_children if c.type == "parameter_declaration"]
    return [_WORDS.sub("", source.text_of(c.child_by_field_name("type"))).strip() for c in found]


def _is_hips(operator: str, types: list[str]) -> bool:
    if not types or not all(_VECTOR.fullmatch(t) for t in types) or len(set(types)) != 1:
        return False
    if len(types) == 1:
        return operator == "-" and not types[0].startswith("u")
    return operator in ("*", "/") or operator.endswith("=")


def _is_by_elements(body: str, operator: str) -> bool:
    """Whether the body applies the operator to the elements, or to the vectors as they are."""
    plain = re.escape(operator.rstrip("="))
    if re.search(rf"\.x\s*{plain}=?\s*\w+\s*\.x|{plain}\s*\w+\s*\.x\b", body):
        return True
    return re.search(rf"\b\w+\s*=\s*\w+\s*{plain}\s*\w+\s*;", body) is not None
