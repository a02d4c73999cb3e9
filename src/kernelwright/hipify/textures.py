"""Textures and surfaces: some AMD GPUs have no image instructions, and read through a descriptor.

The port contains both paths: the host chooses at run time, by the device's attribute, and the
device code at compile time, by its target. Texture references, which newer HIP does not have,
become objects of our own with the same fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import (
    Edit,
    Source,
    arguments,
    callee,
    callee_node,
    enclosing,
)
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State

READS = {
    "tex1Dfetch": ("port_fetch_1d", 2),
    "tex1D": ("port_read_1d", 2),
    "tex2D": ("port_read_2d", 3),
    "tex3D": ("port_read_3d", 4),
    "tex1DLayered": ("port_read_1d_layer", 3),
    "tex2DLayered": ("port_read_2d_layer", 4),
}
"""Texture reads with a replacement: its name, and the number of arguments of the read."""
HOST = {
    "cudaMallocArray": "port_malloc_array", "cudaMalloc3DArray": "port_malloc_3d_array",
    "cudaFreeArray": "port_free_array", "cudaMemcpy3D": "port_copy_3d",
    "cudaMemcpy2DToArray": "port_copy_to_array", "cudaMemcpy2DFromArray": "port_copy_from_array",
    "cudaMemcpyToArray": "port_copy_bytes_to_array",
    "cudaMemcpyFromArray": "port_copy_bytes_from_array",
    "cudaCreateTextureObject": "port_create_texture",
    "cudaDestroyTextureObject": "port_destroy_texture",
}  # fmt: skip
SURFACES = {
    f"surf{kind}{access}": f"port_surface_{became}_{access}"
    for kind, became in (
        ("1D", "1d"), ("2D", "2d"), ("3D", "3d"), ("1DLayered", "1d_layer"),
        ("2DLayered", "2d_layer"),
    )
    for access in ("read", "write")
} | {
    "cudaCreateSurfaceObject": "port_create_surface",
    "cudaDestroySurfaceObject": "port_destroy_surface",
}  # fmt: skip
BINDS = {
    "cudaBindTexture": "port_bind_texture", "cudaBindTexture2D": "port_bind_texture_2d",
    "cudaBindTextureToArray": "port_bind_texture_to_array",
    "cudaUnbindTexture": "port_unbind_texture",
}  # fmt: skip
REFERENCE = "port_texture_reference"
OTHERS = re.compile(r"(tex(1D|2D|3D|Cubemap)\w*|surf(1D|2D|3D|Cubemap)\w*(read|write))")
UNCOVERED = re.compile(
    rb"\bcudaMallocMipmappedArray\b|\bcudaArrayCubemap\b|\bcudaBoundaryModeClamp\b"
    rb"|\bcudaMemcpy(3DAsync|2DArrayToArray|2D(To|From)ArrayAsync)\b|\bcudaGetTextureReference\b"
    rb"|\b(tex|surf)Cubemap\w*|\btex[123]D(Lod|Grad|gather)\w*"
)
"""Constructs that prevent the replacement of a file's textures: it would confuse the two kinds."""
GUARDS = ("PORT_TEXTURE", "PORT_SURFACE")
"""Macros that guard the definitions of the replacements."""
REASON = "gfx942 and gfx950 have no image instructions"
NO_REFERENCES = "HIP no longer has texture references: a texture object is bound instead"


def texture_changes(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Yield the texture calls of a CUDA file: replaced, or reported if one of them cannot be.

    ``own`` are the names that the program declares.
    """
    is_replaced = UNCOVERED.search(source.text) is None
    yield from _references(source, own, is_replaced)
    for call in source.nodes("call_expression"):
        name, line = callee(source, call), source.line(call)
        if name in own:
            continue
        became, need = _replacement(source, call, name)
        if is_replaced and became:
            node = callee_node(call)
            reason = (
                NO_REFERENCES if need == "texture_reference" else f"{REASON}: ordinary loads there"
            )
            found = Finding(line, State.REPAIRED, name, became, reason)
            edit = Edit(node.start_byte, node.end_byte, became)
            yield Change(found, (edit,), (need,), at=node.start_byte)
        elif OTHERS.fullmatch(name):
            advice = "read the memory itself there, and interpolate by hand"
            reason = f"{REASON}: it does not compile for them"
            yield Change(Finding(line, State.CHANGED, name, "", reason, advice))


def _replacement(source: Source, call: Any, name: str) -> tuple[str, str]:
    """Return the replacement of a call and the helper that defines it; empty if it has none."""
    if name in READS:
        became, n_arguments = READS[name]
        given = len(arguments(call))
        is_object = given == n_arguments + 1 or b"<" in _head(source, call)
        if is_object:
            return became, "texture"
        return (became, "texture_reference") if given == n_arguments else ("", "")
    for names, need in ((HOST, "texture"), (SURFACES, "surface"), (BINDS, "texture_reference")):
        if name in names:
            return names[name], need
    return "", ""


def _references(source: Source, own: frozenset[str], is_replaced: bool) -> Iterator[Change]:
    """Yield the declarations of texture and surface references."""
    for node in source.nodes("template_type"):
        name, line = source.text_of(node.child_by_field_name("name")), source.line(node)
        if name == "surface" and name not in own:
            advice = "use surface objects"
            found = Finding(
                line, State.UNPORTED, "surface<>", "", "HIP has no surface references", advice
            )
            yield Change(found)
        if name != "texture" or name in own:
            continue
        around = node.parent
        is_plain = around.type == "declaration" and not enclosing(around, "function_definition")
        is_plain &= all(d.type == "identifier" for d in around.children_by_field_name("declarator"))
        if not is_plain or not is_replaced:
            advice = "use a texture object"
            found = Finding(
                line, State.UNPORTED, "texture<>", "", "HIP has no such reference", advice
            )
            yield Change(found)
            continue
        at = node.child_by_field_name("name")
        head = source.exact(around.start_byte, node.start_byte)
        words = "__device__ " if {"static", "extern"} & set(head.split()) else "static __device__ "
        # one edit: the helpers may be inserted at the same place
        edit = Edit(around.start_byte, at.end_byte, f"{words}{head}{REFERENCE}")
        found = Finding(line, State.REPAIRED, "texture<>", REFERENCE, NO_REFERENCES)
        yield Change(found, (edit,), ("texture_reference",), at=at.start_byte)


def texture_returns(source: Source) -> Iterator[Change]:
    """Yield the changes of the way back: the replacements' definitions are removed, and CUDA's own
    functions are called again."""
    back = {became: name for name, (became, _) in READS.items()}
    back |= {became: name for name, became in (HOST | SURFACES).items()}
    named = ((node, node.child_by_field_name("name")) for node in source.nodes("preproc_ifdef"))
    blocks = [node for node, name in named if name and source.text_of(name) in GUARDS]
    reason = "CUDA's GPUs have textures"
    for block in blocks:
        found = Finding(source.line(block), State.TRANSLATED, GUARDS[0], "", reason)
        yield Change(found, (Edit(block.start_byte, block.end_byte, ""),))
    for call in source.nodes("call_expression") if blocks else ():
        name = callee(source, call)
        is_defined = any(b.start_byte <= call.start_byte < b.end_byte for b in blocks)
        if name in back and not is_defined:
            node = callee_node(call)
            found = Finding(source.line(call), State.TRANSLATED, name, back[name], reason)
            yield Change(found, (Edit(node.start_byte, node.end_byte, back[name]),))


def _head(source: Source, call: Any) -> bytes:
    function = call.child_by_field_name("function")
    return source.text[function.start_byte : function.end_byte]
