"""Constructs that HIP has in another form: groups, switches, elaborated types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, member_templates
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.groups import group_changes

TYPEDEFS = {
    "cudaGraphicsResource": "hipGraphicsResource",
    "cudaIpcMemHandle_st": "hipIpcMemHandle_t",
    "cudaIpcEventHandle_st": "hipIpcEventHandle_t",
    "CUuuid_st": "hipUUID",
    "CUstream_st": "ihipStream_t",
    "CUevent_st": "ihipEvent_t",
}
"""CUDA structures whose counterparts are written differently after ``struct``. Source: HIP 7.1,
hip_runtime_api.h: the first four are only type names, the others only tags."""

SUFFIXES = ("s", "sv")
"""Suffixes of string literals in the standard library."""
WORDS = {
    **dict.fromkeys(("CUDART_CB", "CUDA_CB", "CUDARTAPI", "CUDAAPI"), "HIP has no such macro"),
    "__grid_constant__": "HIP has no such promise; the parameter is read as it is",
    "register": "C++17 has no such storage class, which clang refuses and nvcc ignores",
}
"""Words that have no meaning on Linux or AMD → the reason that is reported."""


def replacement_changes(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Yield every construct of a CUDA file that HIP has in another form."""
    yield from group_changes(source, own)
    yield from _default_stream(source)
    yield from _elaborated_types(source, own)
    yield from _words_without_meaning(source)
    yield from _member_templates(source)
    yield from _literals_beside_macros(source)


def _default_stream(source: Source) -> Iterator[Change]:
    """Yield the program's definition of the macro that gives each thread its own default stream."""
    for node in source.nodes("preproc_def"):
        name = node.child_by_field_name("name")
        if name is None or source.text_of(name) != "CUDA_API_PER_THREAD_DEFAULT_STREAM":
            continue
        became = "HIP_API_PER_THREAD_DEFAULT_STREAM"
        found = Finding(source.line(node), State.TRANSLATED, source.text_of(name), became)
        yield Change(found, (Edit(name.start_byte, name.end_byte, became),), at=name.start_byte)


def _elaborated_types(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Yield ``struct NAME`` where HIP has no structure of that name."""
    for node in source.nodes("struct_specifier"):
        name = node.child_by_field_name("name")
        old = source.text_of(name) if name is not None else ""
        if old not in TYPEDEFS or old in own or node.child_by_field_name("body") is not None:
            continue
        became = TYPEDEFS[old]
        is_tag = became.startswith("ihip")
        edit = Edit(name.start_byte if is_tag else node.start_byte, name.end_byte, became)
        found = Finding(source.line(node), State.TRANSLATED, f"struct {old}", became)
        yield Change(found, (edit,), at=name.start_byte)


def _member_templates(source: Source) -> Iterator[Change]:
    for node in member_templates(source):
        name = source.text_of(node.child_by_field_name("name"))
        reason = "clang wants the keyword before a member template of a dependent type"
        found = Finding(source.line(node), State.TRANSLATED, name, f"template {name}", reason)
        yield Change(found, (Edit(node.start_byte, node.start_byte, "template "),))


def _literals_beside_macros(source: Source) -> Iterator[Change]:
    """Yield strings that a macro's name follows without a space: nvcc reads two words, clang one
    literal. Suffixes that begin with an underscore and the library's own are literals' indeed."""
    for node in source.nodes("literal_suffix"):
        name, literal = source.text_of(node), node.parent
        if literal.children[0].type != "string_literal" or name in SUFFIXES or name[:1] == "_":
            continue
        reason = "clang wants a space between a string and a macro"
        found = Finding(source.line(node), State.TRANSLATED, f'""{name}', f'"" {name}', reason)
        yield Change(found, (Edit(node.start_byte, node.start_byte, " "),))


def _words_without_meaning(source: Source) -> Iterator[Change]:
    kinds = ("identifier", "type_identifier", "__grid_constant__", "storage_class_specifier")
    for node in source.nodes(*kinds):
        name = source.text_of(node)
        if name not in WORDS or node.parent.type.startswith("preproc") or _is_bound(node):
            continue
        end = node.end_byte
        end += len(source.text[end:]) - len(source.text[end:].lstrip(b" \t"))
        found = Finding(source.line(node), State.TRANSLATED, name, "", WORDS[name])
        yield Change(found, (Edit(node.start_byte, end, ""),), at=node.start_byte)


def _is_bound(node: Any) -> bool:
    """Return whether a variable is bound to a machine register, which needs the word."""
    return any(child.type == "gnu_asm_expression" for child in node.parent.children)
