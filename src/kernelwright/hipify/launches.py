"""Kernel launches: ``<<<...>>>`` is the same on both sides, ``hipLaunchKernelGGL`` is not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernelwright.dialects.simt.source import Edit, Source, arguments, callee
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State

GGL = "hipLaunchKernelGGL"
_UINT3 = re.compile(r"\buint3\s+(\w+)")
N_CONFIGURATION = 5
"""Number of hipLaunchKernelGGL's arguments before the kernel's own: kernel, grid, block, bytes,
stream."""


def launch_changes(source: Source, to: str) -> list[Change]:
    """Report launches unchanged; on the way to CUDA, write HIP's macro as a launch."""
    changes = []
    for node in source.nodes("kernel_call_syntax"):
        changes.append(Change(Finding(source.line(node), State.TRANSLATED, "<<<>>>", "<<<>>>")))
    if to != "cuda":
        return changes + list(_sizes(source))
    for call in source.nodes("call_expression"):
        given = arguments(call)
        if callee(source, call) != GGL or len(given) < N_CONFIGURATION:
            continue
        kernel, grid, block, size, stream = (source.text_of(a) for a in given[:N_CONFIGURATION])
        if kernel.startswith("HIP_KERNEL_NAME("):
            kernel = kernel[len("HIP_KERNEL_NAME(") : -1]
        rest = given[N_CONFIGURATION].start_byte if given[N_CONFIGURATION:] else call.end_byte - 1
        text = f"{kernel}<<<{grid}, {block}, {size}, {stream}>>>("
        finding = Finding(source.line(call), State.TRANSLATED, GGL, "<<<>>>")
        at = call.child_by_field_name("function").start_byte
        changes.append(Change(finding, (Edit(call.start_byte, rest, text),), at=at))
    return changes


def _sizes(source: Source) -> Iterator[Change]:
    """Yield launch sizes that are declared as uint3, which HIP does not convert to dim3
    implicitly."""
    declared = set(_UINT3.findall(source.text.decode(errors="replace")))
    for launch in source.nodes("kernel_call_syntax"):
        for node in launch.named_children[:2]:
            name = source.text_of(node)
            if node.type != "identifier" or name not in declared:
                continue
            became = f"dim3({name}.x, {name}.y, {name}.z)"
            found = Finding(
                source.line(node),
                State.TRANSLATED,
                f"uint3 {name}",
                became,
                "HIP has no conversion from uint3 to dim3",
            )
            yield Change(found, (Edit(node.start_byte, node.end_byte, became),))
