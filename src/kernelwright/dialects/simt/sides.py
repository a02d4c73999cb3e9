"""Device code and host code see different sides of ``#ifdef __CUDA_ARCH__``.

A compiler for GPUs reads each unit twice. The emulation reads it once, with the macro defined: the
device's side holds outside functions and in device functions. Another function has both sides, and
takes the one from which it is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, apply_edits, enclosing

ARCH = {"__CUDA_ARCH__": "700", "__HIP_DEVICE_COMPILE__": "1"}
"""Macros that are defined in device code only, and their values here: sm_70, for which the
translator decides conditions too (``STAND_IN_ARCH``)."""
_ANY = re.compile("|".join(ARCH).encode())
_LOCAL = ("function_definition", "lambda_expression")


def with_sides(text: str) -> str:
    """Return a unit's or a header's text in which host code sees its own sides; line numbers stay.

    Not covered: host functions that use macros which are defined differently for host and device
    outside functions.
    """
    source = Source(text.encode(errors="surrogateescape"))
    if not _ANY.search(source.text):
        return text
    edits = [*_for_host_only(source)]
    for node in source.nodes("function_definition"):
        body = node.child_by_field_name("body")
        if body is None or body.type != "compound_statement" or enclosing(node, *_LOCAL):
            continue
        inside = source.text[node.start_byte : node.end_byte]
        if _ANY.search(inside) and not _is_for_device(
            source.text[node.start_byte : body.start_byte]
        ):
            edits += _both(source, body)
    return apply_edits(source.text, edits).decode(errors="surrogateescape")


def _is_for_device(head: bytes) -> bool:
    return b"__global__" in head or (b"__device__" in head and b"__host__" not in head)


def _both(source: Source, body: Any) -> list[Edit]:
    """Return edits that put the device's side before the host's, and choose when it is called."""
    inner = source.exact(body.start_byte + 1, body.end_byte - 1)
    first, last = body.start_point[0] + 1, body.end_point[0] + 1
    undefined = "".join(f"#undef {name}\n" for name in ARCH)
    defined = "".join(f"#define {name} {value}\n" for name, value in ARCH.items())
    choice = "if (!__builtin_is_constant_evaluated() && simt::simt_in_device())"
    device = f" {choice} {{\n#line {first}\n{inner}\n}} else {{\n{undefined}#line {first}\n"
    return [
        Edit(body.start_byte + 1, body.start_byte + 1, device),
        Edit(body.end_byte - 1, body.end_byte - 1, f"\n{defined}#line {last}\n}}"),
    ]


def _for_host_only(source: Source) -> Iterator[Edit]:
    """Yield edits that keep code outside functions which only the host's compiler sees."""
    for node in source.nodes("preproc_ifdef"):
        name = node.child_by_field_name("name")
        is_negated = source.text[node.start_byte : node.start_byte + 7] == b"#ifndef"
        if name is None or source.text_of(name) not in ARCH or enclosing(node, *_LOCAL):
            continue
        if is_negated and node.child_by_field_name("alternative") is None:
            yield Edit(node.start_byte, name.end_byte, "#if 1")
