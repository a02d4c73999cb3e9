"""Functions that both a program and HIP define: they are removed on HIP, or calls would be
ambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, enclosing
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State

OVERLOADS = re.compile(r"atomic(Add\s*\(\s*double|(Min|Max)\s*\(\s*(float|double))\s*\*")
"""Atomics on floating-point numbers that HIP declares. Source: HIP 7.1, amd_hip_atomic.h."""
ONE_IN_HIP = {"CUresult": "cudaError_t"}
"""Driver types that differ from the runtime's in CUDA, and are the same in HIP. Source: the rows of
the tables."""
_AMD = "__HIP_PLATFORM_AMD__"
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1234]")
_NAME = re.compile(r"operator\s*([-+*/]=?|[%&|^]=?)$")
_CLASS = "field_declaration_list"
_WORDS = re.compile(r"\b(const|struct|inline)\b|&")


def definition_changes(source: Source) -> Iterator[Change]:
    """Yield changes that remove definitions equal to HIP's; definitions that differ are
    reported."""
    seen: dict[tuple[object, ...], list[str]] = {}
    for node in source.nodes("function_definition"):
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type.endswith(
            ("reference_declarator", "pointer_declarator")
        ):
            declarator = declarator.named_children[-1]
        if declarator is None or declarator.type != "function_declarator":
            continue
        name = declarator.child_by_field_name("declarator")
        types = _parameter_types(source, declarator)
        scope = enclosing(node, _CLASS, "namespace_definition")
        signature = (
            scope.id if scope else 0,
            source.text_of(name),
            *(re.sub(r"\w+", lambda word: ONE_IN_HIP.get(word[0], word[0]), t) for t in types),
        )
        if seen.setdefault(signature, types) != types:
            reason = "it repeats an overload: the runtime's and the driver's type are one in HIP"
            yield _left_out(source, node, source.text_of(name), reason, "__HIP__")
        elif scope is not None and scope.type == _CLASS:
            continue  # a member function, which no function of HIP overloads
        elif OVERLOADS.match(source.text_of(declarator)):
            name = source.text_of(declarator).split("(")[0].strip()
            reason = "HIP already has an atomic of this name and type"
            yield _left_out(source, node, name, reason)
        else:
            yield from _vector_operator(source, node, declarator)


def _left_out(source: Source, node: Any, name: str, reason: str, unless: str = _AMD) -> Change:
    """Put the definition between preprocessor guards on lines of their own."""
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
    """Return whether something follows the definition on its line."""
    newline = source.text.find(b"\n", node.end_byte)
    return bool(source.text[node.end_byte : newline if newline >= 0 else None].strip())


def _vector_operator(source: Source, node: Any, declarator: Any) -> Iterator[Change]:
    """Yield changes for vector operators that HIP defines as ordinary functions: the product and
    quotient of two vectors, compound assignment by a vector, and the sign. HIP's other operators
    are templates, which a program's own operators take precedence over.

    Source: HIP 7.1, amd_hip_vector_types.h.
    """
    name = _NAME.search(source.text_of(declarator.child_by_field_name("declarator")))
    types = _parameter_types(source, declarator)
    block = node.child_by_field_name("body")
    if name is None or block is None or not _is_hips(name[1], types):
        return
    construct = f"operator{name[1]} of {types[0]}"
    body = "".join(_words(source, block))
    if _is_by_elements(body, name[1], types[0], _parameter_names(source, declarator)):
        reason = "HIP's vector types already have this operator"
        yield _left_out(source, node, construct, reason)
        return
    found = Finding(
        source.line(node),
        State.UNPORTED,
        construct,
        reason="HIP's vector types already have this operator, element by element, and this one "
        "may compute something else: calls are ambiguous",
        advice="turn the operator into a named function",
    )
    yield Change(found)


def _parameter_types(source: Source, declarator: Any) -> list[str]:
    """Return the type of each parameter, with a star for each pointer."""
    return [
        _WORDS.sub("", source.text_of(c.child_by_field_name("type"))).strip()
        + "*" * source.text_of(c).count("*")
        for c in _parameters(declarator)
    ]


def _parameters(declarator: Any) -> list[Any]:
    listed = declarator.child_by_field_name("parameters")
    return [c for c in listed.named_children if c.type == "parameter_declaration"]


def _parameter_names(source: Source, declarator: Any) -> list[str]:
    named = [c.child_by_field_name("declarator") for c in _parameters(declarator)]
    return [_WORDS.sub("", source.text_of(n)).strip() if n is not None else "" for n in named]


def _words(source: Source, node: Any) -> Iterator[str]:
    """Yield the leaves of a tree, without comments."""
    if not node.children:
        yield source.text_of(node)
    for child in node.children:
        if child.type != "comment":
            yield from _words(source, child)


def _is_hips(operator: str, types: list[str]) -> bool:
    if not types or not all(_VECTOR.fullmatch(t) for t in types) or len(set(types)) != 1:
        return False
    if len(types) == 1:
        return operator == "-" and not types[0].startswith("u")
    return operator in ("*", "/") or operator.endswith("=")


def _is_by_elements(body: str, operator: str, vector: str, names: list[str]) -> bool:
    """Return whether the body (without spaces) only applies the operator to each element in turn,
    or to whole vectors: a product of complex numbers begins like one of vectors."""
    a, b, op = names[0], names[-1], operator.removesuffix("=")
    parts = "xyzw"[: int(vector[-1])]
    values = [f"{a}.{c}{op}{b}.{c}" if len(names) == 2 else f"{op}{a}.{c}" for c in parts]
    listed = ",".join(values)
    wholes = [f"make_{vector}({listed})", f"{{{listed}}}", f"{vector}{{{listed}}}"]
    if operator.endswith("="):
        assigned = [f"{a}={whole};" for whole in [*wholes, f"{a}{op}{b}"]]
        assigned.append("".join(f"{a}.{c}{operator}{b}.{c};" for c in parts))
        assigned.append(_by_parts(a, parts, values))
        forms = [text + end for text in assigned for end in ("", f"return{a};")]
    else:
        local = re.match(rf"{{{vector}(\w+)[;=]", body)
        v = local[1] if local else "v"
        forms = [f"return{whole};" for whole in wholes]
        forms += [f"{vector}{v}={whole};return{v};" for whole in wholes]
        forms.append(f"{vector}{v};{_by_parts(v, parts, values)}return{v};")
    return body in {f"{{{form}}}" for form in forms}


def _by_parts(name: str, parts: str, values: list[str]) -> str:
    return "".join(f"{name}.{c}={value};" for c, value in zip(parts, values, strict=True))
