"""The C++ of what a PTX program declares: functions, parameters and variables in memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.hipify.ptx.operands import stored_type
from kernelwright.hipify.ptx.reading import BYTES, Function, Module, Variable

_KEYWORDS = re.compile(
    r"and|or|not|xor|bool|char|int|long|short|float|double|void|auto|do|for|if|else|new|delete|this"
    r"|case|switch|return|goto|break|continue|while|union|struct|class|const|static|unsigned|signed"
    r"|carry|unused|u8|u16|u32|u64|s8|s16|s32|s64|f16|f32|f64|bf16|min|max|exp|log|sin|cos|pow"
)


@dataclass
class Names:
    """The C++ of what a module declares: variables and functions by their PTX names."""

    module: Module
    shared: dict[str, str]
    """Shared variables of the module → the C++ of their address."""

    def variable(self, name: str) -> Variable | None:
        return self.module.variables.get(name)

    def function(self, name: str) -> str | None:
        return identifier(name) if name in self.module.functions else None

    def address(self, variable: Variable) -> str:
        if variable.space == "shared":
            return self.shared[variable.name]
        return pointer_to(variable)


def pointer_to(variable: Variable) -> str:
    return f"((char*)&{identifier(variable.name)})"


def identifier(name: str) -> str:
    """Return a PTX name as one of C++."""
    plain = re.sub(r"[^\w]", "_", name.lstrip("%"))
    return f"{plain}_" if _KEYWORDS.fullmatch(plain) or plain[:1].isdigit() else plain


def element_type(variable: Variable) -> tuple[str, int]:
    """Return the type and the number of elements of a variable in memory, by its alignment."""
    size = min(variable.alignment, 16)
    name = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "uint4"}[size]
    return name, -(-variable.n_bytes // size)


def signature(function: Function) -> str:
    """Return a function's head in C++."""
    parameters = ", ".join(
        f"{parameter_type(p)} {parameter_name(k)}" for k, p in enumerate(function.parameters)
    )
    if function.is_entry:
        return f'extern "C" __global__ void {identifier(function.name)}({parameters})'
    result = parameter_type(function.returns[0]) if function.returns else "void"
    return f"static __device__ {result} {identifier(function.name)}({parameters})"


def parameter_name(index: int) -> str:
    return f"arg{index}"


def parameter_type(parameter: Variable) -> str:
    """Return the C++ type of a parameter: bytes of its size and alignment if it is a structure."""
    if parameter.type in BYTES and parameter.count == 1 and parameter.type != "b8":
        return stored_type(parameter.type) if BYTES[parameter.type] > 1 else "u8"
    if parameter.type == "b8" and parameter.count == 1 and not parameter.align:
        return "u8"
    return f"ptx_bytes<{parameter.n_bytes}, {parameter.alignment}>"


def shared_declaration(variable: Variable, name: str) -> str:
    kind, n = element_type(variable)
    if variable.count is None:
        return f"  extern __shared__ {kind} {name}[];"
    return f"  __shared__ {kind} {name}[{max(n, 1)}];"


def short_names(variables: Iterable[Variable]) -> dict[str, str]:
    """Return the C++ names of a function's shared variables: short ones where no two are alike."""
    names = [variable.name for variable in variables if variable.space == "shared"]
    n = Counter(map(_short_name, names))
    return {name: s if n[s := _short_name(name)] == 1 else identifier(name) for name in names}


def _short_name(name: str) -> str:
    """Return the last part of a mangled name."""
    found = re.search(r"E(\d+)(\w+)$", name) if name.startswith("_ZZ") else None
    if found and len(found[2]) >= int(found[1]):
        return identifier(found[2][: int(found[1])]) + "_shared"
    return identifier(name)
