"""How a HIP host launches lifted kernels: a header with each kernel's arguments, by offset."""

from __future__ import annotations

from kernelwright.lift.cubin import Parameter
from kernelwright.lift.program import LiftedProgram

_HEAD = """// The kernels of {name}.co and their arguments, for a HIP host:
//   hipModuleLoad(&module, "{name}.co");
//   hipModuleGetFunction(&kernel, module, "NAME");
//   hipModuleLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes,
//                         stream, nullptr, extra);
// where `extra` gives a NAME_arguments by HIP_LAUNCH_PARAM_BUFFER_POINTER and _SIZE. shared_bytes
// is NAME_shared_bytes and the dynamic bytes of the CUDA launch, whose grid and block are kept.
#pragma once
#include <cstddef>
"""


def hip_header(program: LiftedProgram) -> str:
    """Return the header of all kernels that were lifted."""
    parts = [_HEAD.format(name=program.name)]
    for kernel in program.lifted:
        shared = program.shared_bytes.get(kernel.name, 0)
        parts.append(_arguments(kernel.name, kernel.parameters))
        parts.append(f"constexpr std::size_t {kernel.name}_shared_bytes = {shared};\n")
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
