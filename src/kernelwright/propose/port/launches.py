"""Kernel launches: ``<<<...>>>`` is the same on both sides, ``hipLaunchKernelGGL`` is not."""

from __future__ import annotations

from kernelwright.dialects.simt.source import Edit, Source, arguments, callee
from kernelwright.propose.port.calls import Change
from kernelwright.propose.port.finding import Finding, State

GGL = "hipLaunchKernelGGL"
N_CONFIGURATION = 5
"""Arguments of hipLaunchKernelGGL before the kernel's: kernel, grid, block, bytes, stream."""


def launch_changes(source: Source, to: str) -> list[Change]:
    """Launches: reported as they stand, and HIP's macro written as a launch on the way to CUDA."""
    changes = []
    for node in source.nodes("kernel_call_syntax"):
        changes.append(Change(Finding(source.line(node), State.TRANSLATED, "<<<>>>", "<<<>>>")))
    if to != "cuda":
        return changes
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
