"""Device code in CUDA C++ to the Metal Shading Language.

The device functions, and the types and constants that they use, are kept with their comments; all
else is left to the host's part. Kernels take their position under CUDA's names: ``threadIdx`` is a
parameter with the attribute ``thread_position_in_threadgroup``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, apply_edits, callee
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.metal.bodies import Body
from kernelwright.hipify.metal.functions import (
    Function,
    declarators,
    functions_of,
    inner_name,
)
from kernelwright.hipify.metal.spaces import Spaces, within
from kernelwright.hipify.metal.vocabulary import BUILTINS, tables

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
SPECIAL = "#include <c10/metal/special_math.h>\n#include <c10/metal/utils.h>\n"
COMPARE_AND_SWAP = """
// CUDA's atomicCAS: Metal's exchange may fail although the values are equal.
template <typename A, typename T, typename U>
inline T compare_and_swap_as(A at, T expected, U value) {
  T found = expected;
  while (!atomic_compare_exchange_weak_explicit(at, &found, T(value), memory_order_relaxed,
                                                memory_order_relaxed) && found == expected) {
  }
  return found;
}
"""
_STRINGS_AND_COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.DOTALL)
_FUNCTIONS = ("function_definition", "template_declaration")
_ITEMS = (
    "preproc_def", "preproc_function_def", "declaration", "struct_specifier", "class_specifier",
    "enum_specifier", "type_definition", "alias_declaration", "template_declaration",
)  # fmt: skip
_HOST_TYPES = re.compile(r"\b(torch|at|py)::|\bcudaStream_t\b|\bTensor\b|TORCH_CHECK")


@dataclass(frozen=True)
class DeviceCode:
    """The device code of one text."""

    text: str
    """MSL, without the instantiations of templates."""
    kernels: Mapping[str, Function]
    dynamic: frozenset[str]
    """Kernels whose threadgroup memory the host measures."""
    findings: tuple[Finding, ...]


def device_code(source: Source) -> DeviceCode:
    """Return the device code of a CUDA text as MSL.

    Not covered: classes with device functions as members, pointers in structures.
    """
    functions = [f for f in functions_of(source) if f.is_device]
    constants = _constant_arrays(source)
    spaces = Spaces(source, functions, constants)
    uses = _uses_of_builtins(source, functions)
    findings: list[Finding] = []
    for called, parameter in sorted(spaces.conflicts):
        reason = f"{parameter} points to different address spaces in different calls"
        findings.append(_left(functions, called, reason, "write one function for each"))
    bodies = {f.name: Body(f, spaces, uses) for f in functions}
    parts = []
    for node in _items(source, functions):
        own = next((f for f in functions if f.outer is node or f.outer == node), None)
        if own is not None:
            body = bodies[own.name]
            parts.append(_comment(source, node) + _moved(source, own.outer, body.edits()))
            findings += body.findings
        else:
            parts.append(_comment(source, node) + _item(source, node).rstrip())
    text = "\n\n".join(parts)
    findings += _absent(source, functions)
    needs_swap = "compare_and_swap(" in text
    text = text.replace("compare_and_swap(", "compare_and_swap_as(")
    head = HEAD + (SPECIAL if "c10::metal" in text else "")
    head += COMPARE_AND_SWAP if needs_swap else ""
    kernels = {f.name: f for f in functions if f.is_kernel}
    dynamic = frozenset(name for name in kernels if bodies[name].is_dynamic)
    return DeviceCode(head + "\n" + with_words(text) + "\n", kernels, dynamic, tuple(findings))


def with_words(text: str) -> str:
    """Return ``text`` with the words of CUDA's types in MSL, except in comments and strings."""
    words = tables()["type"]
    known = re.compile(
        "|".join(rf"(?<![\w:]){re.escape(word)}(?!\w)" for word in sorted(words, key=len)[::-1])
    )
    out, at = [], 0
    for kept in _STRINGS_AND_COMMENTS.finditer(text):
        out += [known.sub(lambda m: words[m[0]], text[at : kept.start()]), kept[0]]
        at = kept.end()
    return "".join([*out, known.sub(lambda m: words[m[0]], text[at:])])


def _moved(source: Source, node: Any, edits: Sequence[Edit]) -> str:
    """Return the text of ``node`` with edits that are made at positions in the whole text."""
    part = source.text[node.start_byte : node.end_byte]
    moved = [Edit(e.start - node.start_byte, e.end - node.start_byte, e.text) for e in edits]
    return apply_edits(part, moved).decode(errors="surrogateescape")


def _items(source: Source, functions: Sequence[Function]) -> Iterator[Any]:
    """Yield the items of the text that belong to the device: functions, and what they name."""
    own = {f.outer.start_byte for f in functions}
    items = [node for node in _outer(source.root) if node.type in _ITEMS]
    words = {w for f in functions for w in _words(source, f.outer)}
    wanted: list[Any] = []
    for _ in range(len(items)):
        more = [n for n in items if n not in wanted and _declared(source, n) & words]
        if not more:
            break
        wanted += more
        words |= {w for node in more for w in _words(source, node)}
    for node in _outer(source.root):
        is_own = node.start_byte in own and node.type in _FUNCTIONS
        if is_own or (node in wanted and not _HOST_TYPES.search(source.text_of(node))):
            yield node


def _outer(node: Any) -> Iterator[Any]:
    """Yield the items outside of functions and classes, those of namespaces included."""
    for child in node.children:
        if child.type in ("namespace_definition", "declaration_list", "linkage_specification"):
            yield from _outer(child)
        else:
            yield child


def _words(source: Source, node: Any) -> set[str]:
    return set(re.findall(r"\w+", source.text_of(node)))


def _declared(source: Source, node: Any) -> set[str]:
    """Return the names that an item declares."""
    if node.type in ("declaration", "type_definition"):
        if _is_prototype(node):
            return set()
        return {inner_name(source, declared) for declared in declarators(node)}
    if node.type == "template_declaration":
        return _declared(source, node.named_children[-1])
    if node.type == "enum_specifier":
        return _words(source, node)
    name = node.child_by_field_name("name")
    return set() if name is None else {source.text_of(name)}


def _is_prototype(node: Any) -> bool:
    return node.type == "declaration" and any(
        d.type == "function_declarator" for d in declarators(node)
    )


def _comment(source: Source, node: Any) -> str:
    """Return the comments that stand directly before an item."""
    before, line, start = node.prev_sibling, node.start_point[0], node.start_byte
    while before is not None and before.type == "comment" and line - before.end_point[0] <= 1:
        line, start = before.start_point[0], before.start_byte
        before = before.prev_sibling
    is_beside = before is not None and before.end_point[0] == line and before.end_point[1] > 0
    if is_beside:  # the first comment belongs to the item before
        return ""
    return source.exact(start, node.start_byte)


def _item(source: Source, node: Any) -> str:
    """Return a type, a macro or a constant in MSL."""
    text = source.text_of(node)
    if node.type in ("struct_specifier", "enum_specifier", "class_specifier"):
        return text + ";"
    if node.type == "template_declaration":
        return text if text.endswith(";") else text + ";"
    if node.type != "declaration":
        return text
    text = re.sub(r"\b(static|inline|const|constexpr|__constant__|__device__)\b\s*", "", text)
    return f"constant {text}"


def _constant_arrays(source: Source) -> dict[str, str]:
    """Return the constants outside of functions by name, with their types."""
    found = {}
    for node in source.root.children:
        if node.type == "declaration" and (kind := node.child_by_field_name("type")) is not None:
            for declared in declarators(node):
                if "[" in source.text_of(declared).partition("=")[0]:
                    found[inner_name(source, declared)] = source.text_of(kind)
    return found


def _uses_of_builtins(source: Source, functions: Sequence[Function]) -> dict[str, tuple[str, ...]]:
    """Return which of CUDA's variables each function reads, itself or through its calls."""
    direct, calls = {}, {}
    names = {f.name for f in functions}
    for f in functions:
        nodes = list(within(f.body))
        direct[f.name] = {
            source.text_of(n) for n in nodes if n.type == "identifier"
        } & BUILTINS.keys()
        calls[f.name] = {
            callee(source, n) for n in nodes if n.type == "call_expression"
        } & names  # fmt: skip
    for _ in functions:
        for name in direct:
            for called in calls[name]:
                direct[name] |= direct[called]
    return {name: tuple(b for b in BUILTINS if b in used) for name, used in direct.items()}


def _absent(source: Source, functions: Sequence[Function]) -> Iterator[Finding]:
    """Yield what Metal lacks, by the lines of device functions."""
    for function in functions:
        node = function.outer
        text = source.exact(node.start_byte, node.end_byte)
        code = _STRINGS_AND_COMMENTS.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        for row in tables()["absent"]:
            for match in re.finditer(row["text"], code):
                line = source.line(node) + code.count("\n", 0, match.start())
                construct = match[0].rstrip("( ")
                yield Finding(line, State.UNPORTED, construct, "", row["reason"], row["advice"])
    for node in source.root.children:
        if node.type != "declaration":
            continue
        text = source.text_of(node)
        is_device = re.match(r"(static\s+)?__device__\b", text) is not None
        if is_device or (text.startswith("__constant__") and "=" not in text):
            reason = "Metal has no variables that live between dispatches"
            yield Finding(source.line(node), State.UNPORTED, text.split("\n")[0], "", reason,
                          "pass it as a buffer")  # fmt: skip


def _left(functions: Sequence[Function], name: str, reason: str, advice: str) -> Finding:
    function = next(f for f in functions if f.name == name)
    line = function.source.line(function.node)
    return Finding(line, State.UNPORTED, name, "", reason, advice)
