"""How a HIP host launches lifted kernels: a header with each kernel's arguments, by offset."""

from __future__ import annotations

from kernelwright.lift.cubin import Parameter
from kernelwright.lift.program import LiftedProgram

_HEAD = """// The kernels of {name}.co and their arguments, for a HIP host:
//   hipModuleLoad(&module, "{name}.co");
//   hipModuleGetFunction(&kernel, module, "NAME");
//   hipModuleLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes,
//                         stream, nullptr, extra);
// where `extra` gives a NAME_arguments by HIP_LAUNCH_PARAM_BUFFER_POINTER and _SIZE. Grid, block
// and dynamic shared memory are those of the CUDA launch. Kernels have warps of 32 lanes on every
// GPU: a host that computes with the size of a warp takes 32, not warpSize.
#pragma once
#include <cstddef>
"""
_UNKNOWN = """// Read from a listing alone: add this kernel's static shared memory, if any, to the
// launch. Its arguments are one block of bytes, laid out as CUDA's."""


def hip_header(program: LiftedProgram) -> str:
    """Return the header of all kernels that were lifted."""
    parts = [_HEAD.format(name=program.name)]
    for kernel in program.lifted:
        if kernel.name not in program.shared_bytes:
            parts.append(_UNKNOWN)
        parts.append(_arguments(kernel.name, kernel.parameters) + "\n")
    return "\n".join(parts)


def _arguments(name: str, parameters: tuple[Parameter, ...]) -> str:
    """Return the structure that holds a kernel's arguments, at CUDA's offsets."""
    type_ = f"{name}_arguments"
    members, checks, end = [], [], 0
    for k, parameter in enumerate(parameters):
        if parameter.offset > end:
            members.append(f"  unsigned char gap_{k}[{parameter.offset - end}];")
        members.append(f"  unsigned char argument_{k}[{parameter.size}];")
        checks.append(f"static_assert(offsetof({type_}, argument_{k}) == {parameter.offset});")
        end = parameter.offset + parameter.size
    body = "\n".join(members)
    return f"struct alignas(8) {type_} {{\n{body}\n}};\n" + "\n".join(checks)
