"""A PTX program as a HIP file: its variables, its device functions and its kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.ptx.declarations import (
    Names,
    element_type,
    identifier,
    parameter_type,
    pointer_to,
    short_name,
    signature,
)
from kernelwright.hipify.ptx.function import Written, write_function
from kernelwright.hipify.ptx.instructions import Untranslated
from kernelwright.hipify.ptx.reading import BYTES, Function, Instruction, Module, Variable, read_ptx
from kernelwright.hipify.translate import Translation, functions_text

_HEAD = """// {name}, translated from PTX{target}. A kernel has the name of its machine code:
// launch it by hipModuleGetFunction, with arguments of the sizes that its parameters have.
#include <hip/hip_runtime.h>
"""
NO_FUSING = "#pragma clang fp contract(off)\n"
_WORD = re.compile(r"%?[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class Kernel:
    """A kernel of a program: its name, and the types of its parameters in C++."""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class PtxTranslation(Translation):
    """A PTX file in HIP."""

    kernels: tuple[Kernel, ...] = ()


def translate_ptx(text: str, *, name: str = "program.ptx") -> PtxTranslation:
    """Translate PTX text to a HIP file.

    An instruction that no row has is a finding with its line, and a comment in the text; it is
    never passed over.
    """
    module = read_ptx(text)
    shared, accessors = _shared_variables(module)
    names = Names(module, shared)
    defined = [f for f in module.functions.values() if f.is_defined]
    functions = [(function, write_function(function, names)) for function in defined]
    left = [Untranslated(line, said, "it cannot be read", "report this line")
            for line, said in module.strays]  # fmt: skip
    left += [each for _, written in functions for each in written.untranslated]
    needs = ["ptx_types"]
    needs += [need for _, written in functions for need in written.needs]
    parts = [_HEAD.format(name=name, target=f" of {module.target}" if module.target else "")]
    parts += [functions_text(needs), NO_FUSING, "\n"]
    parts += [f"{line}\n" for line in _variables(module)]
    parts += [f"{signature(f)};\n" for f, _ in functions if not f.is_entry]
    parts += accessors
    parts += [f"\n{_text(function, written)}" for function, written in functions]
    findings = [*_findings(left, name), *_used(functions, name)]
    kernels = tuple(
        Kernel(identifier(f.name), tuple(parameter_type(p) for p in f.parameters))
        for f in defined
        if f.is_entry
    )
    return PtxTranslation("".join(parts), tuple(findings), (), kernels)


def _text(function: Function, written: Written) -> str:
    body = "\n".join(written.body)
    return f"{written.head} {{\n{body}\n}}\n"


def _findings(left: list[Untranslated], file: str) -> Iterator[Finding]:
    for each in sorted(left, key=lambda found: found.line):
        yield Finding(each.line, State.UNPORTED, each.text, "", each.reason, each.advice, file)


def _used(functions: list[tuple[Function, Written]], file: str) -> Iterator[Finding]:
    for row in dict.fromkeys(row for _, written in functions for row in written.used):
        yield Finding(0, State.TRANSLATED, row, file=file)


def _shared_variables(module: Module) -> tuple[dict[str, str], list[str]]:
    """Give each shared variable of the module to the function that uses it.

    Return the addresses of those that several functions use, and the functions that return them.
    """
    listed = {n: v for n, v in module.variables.items() if v.space == "shared"}
    users: dict[str, list[Function]] = {name: [] for name in listed}
    for function in module.functions.values():
        words = {
            word
            for item in function.body
            if isinstance(item, Instruction)
            for operand in item.operands
            for word in _WORD.findall(operand)
        }
        for name in words & set(listed):
            users[name].append(function)
    shared, accessors = {}, []
    for name, variable in listed.items():
        if variable.count is None or len(users[name]) == 1:
            for function in users[name]:
                function.variables[name] = variable
        elif users[name]:
            kind, n = element_type(variable)
            own = short_name(name)
            shared[name] = f"((char*){own}())"
            accessors.append(
                f"static __device__ {kind}* {own}() {{ __shared__ {kind} memory[{max(n, 1)}]; "
                "return memory; }\n"
            )
    return shared, accessors


def _variables(module: Module) -> Iterator[str]:
    """Yield declarations of the variables in global and constant memory."""
    for variable in module.variables.values():
        if variable.space not in ("global", "const"):
            continue
        mark = "__constant__" if variable.space == "const" else "__device__"
        kind, n = element_type(variable)
        name = identifier(variable.name)
        if variable.is_extern:
            yield f'extern "C" __device__ {kind} {name}[{max(n, 1)}];'
            continue
        if any(_WORD.match(word) for word in variable.initial):
            yield _with_addresses(variable, module, name)
            continue
        start = f" = {{{', '.join(_words(variable, kind))}}}" if variable.initial else ""
        yield f'extern "C" {{ {mark} {kind} {name}[{max(n, 1)}]{start}; }}'


def _with_addresses(variable: Variable, module: Module, name: str) -> str:
    """Return a variable that holds addresses, such as a table of virtual functions."""
    values = []
    for word in variable.initial:
        if word in module.functions:
            values.append(f"(const void*)&{identifier(word)}")
        elif word in module.variables:
            values.append(f"(const void*){pointer_to(module.variables[word])}")
        else:
            values.append(f"(const void*){word}")
    declared = "".join(
        f"{signature(module.functions[w])}; " for w in variable.initial
        if w in module.functions and module.functions[w].is_defined
    )  # fmt: skip
    listed = ", ".join(values)
    return (
        f'{declared}\nextern "C" {{ __device__ const void* {name}[{len(values)}] = {{{listed}}}; }}'
    )


def _words(variable: Variable, kind: str) -> Iterator[str]:
    """Yield the initial value of a variable as elements of the type that it has in C++."""
    size = BYTES[variable.type]
    data = b"".join(_bytes_of(word, size, variable.type) for word in variable.initial)
    step = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "uint4": 16}[kind]
    data += bytes(-len(data) % step)
    for at in range(0, len(data), step):
        piece = data[at : at + step]
        if kind == "uint4":
            parts = [int.from_bytes(piece[k : k + 4], "little") for k in range(0, 16, 4)]
            yield "{" + ", ".join(f"{part}u" for part in parts) + "}"
        else:
            end = {4: "u", 8: "ull"}.get(step, "")
            yield f"{int.from_bytes(piece, 'little')}{end}"


def _bytes_of(word: str, size: int, type_: str) -> bytes:
    if found := re.fullmatch(r"0[fFdD]([0-9a-fA-F]+)", word):
        return bytes.fromhex(found[1])[::-1]
    return (int(word.rstrip("U"), 0) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
