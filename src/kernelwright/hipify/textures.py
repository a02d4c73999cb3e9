"""Textures: some AMD GPUs have no image instructions, and read through a descriptor instead.

The port contains both paths: the host chooses at run time, by the device's attribute, and the
device code at compile time, by its target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernelwright.dialects.simt.source import Edit, Source, arguments, callee, callee_node
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State

READS = {
    "tex1Dfetch": ("port_fetch_1d", 2),
    "tex1D": ("port_read_1d", 2),
    "tex2D": ("port_read_2d", 3),
}
"""Texture reads with a replacement: its name, and the number of arguments of the read."""
HOST = {
    "cudaMallocArray": "port_malloc_array", "cudaFreeArray": "port_free_array",
    "cudaMemcpy2DToArray": "port_copy_to_array", "cudaMemcpy2DFromArray": "port_copy_from_array",
    "cudaCreateTextureObject": "port_create_texture",
    "cudaDestroyTextureObject": "port_destroy_texture",
}  # fmt: skip
OTHERS = re.compile(r"(tex(1D|2D|3D|Cubemap)\w*|surf(1D|2D|3D|Cubemap)\w*(read|write))")
UNCOVERED = re.compile(
    rb"\bcudaMalloc3DArray\b|\bcudaMallocMipmappedArray\b|\bcudaCreateSurfaceObject\b"
    rb"|\bcudaMemcpy(3D|2DArrayToArray|ToArray|FromArray|2DToArrayAsync)\b|\btex(ture)?<"
    rb"|\bsurf(1D|2D|3D)\w+\b|\btex(3D|Cubemap)\w*|\btex[12]DL(ayered|od)\w*"
)
"""Constructs that prevent the replacement of a file's textures: it would confuse the two kinds."""
GUARD = "PORT_TEXTURE"
"""Macro that guards the definitions of the replacements."""
REASON = "gfx942 and gfx950 have no image instructions"


def texture_changes(source: Source) -> Iterator[Change]:
    """Yield the texture calls of a CUDA file: replaced, or reported if one of them cannot be."""
    for node in source.nodes("template_type"):
        if source.text_of(node.child_by_field_name("name")) == "surface":
            found = Finding(
                source.line(node),
                State.UNPORTED,
                "surface<>",
                reason="HIP has no surface references",
                advice="use surface objects",
            )
            yield Change(found)
    is_replaced = UNCOVERED.search(source.text) is None
    for call in source.nodes("call_expression"):
        name, given, line = callee(source, call), len(arguments(call)), source.line(call)
        became, count = READS.get(name, (HOST.get(name, ""), given))
        is_object = name in HOST or given == count + 1 or b"<" in _head(source, call)
        if is_replaced and became and is_object:
            node = callee_node(call)
            found = Finding(line, State.REPAIRED, name, became, f"{REASON}: ordinary loads there")
            edit = Edit(node.start_byte, node.end_byte, became)
            yield Change(found, (edit,), ("texture",), at=node.start_byte)
        elif OTHERS.fullmatch(name):
            advice = "read the memory itself there, and interpolate by hand"
            reason = f"{REASON}: it does not compile for them"
            yield Change(Finding(line, State.CHANGED, name, "", reason, advice))


def texture_returns(source: Source) -> Iterator[Change]:
    """Yield the changes of the way back: the replacements' definitions are removed, and CUDA's own
    functions are called again."""
    back = {became: name for name, (became, _) in READS.items()}
    back |= {became: name for name, became in HOST.items()}
    named = ((node, node.child_by_field_name("name")) for node in source.nodes("preproc_ifdef"))
    block = next((node for node, name in named if name and source.text_of(name) == GUARD), None)
    if block is None:
        return
    reason = "CUDA's GPUs have textures"
    found = Finding(source.line(block), State.TRANSLATED, GUARD, "", reason)
    yield Change(found, (Edit(block.start_byte, block.end_byte, ""),))
    for call in source.nodes("call_expression"):
        name = callee(source, call)
        if name in back and not block.start_byte <= call.start_byte < block.end_byte:
            node = callee_node(call)
            found = Finding(source.line(call), State.TRANSLATED, name, back[name], reason)
            yield Change(found, (Edit(node.start_byte, node.end_byte, back[name]),))


def _head(source: Source, call: object) -> bytes:
    function = call.child_by_field_name("function")  # type: ignore[attr-defined]
    return source.text[function.start_byte : function.end_byte]
