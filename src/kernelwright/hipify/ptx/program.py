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
    signature,
)
from kernelwright.hipify.ptx.function import Written, write_function
from kernelwright.hipify.ptx.instructions import Untranslated
from kernelwright.hipify.ptx.operands import UnreadableError
from kernelwright.hipify.ptx.reading import (
    BYTES,
    Function,
    Instruction,
    Module,
    Variable,
    integer_of,
    read_ptx,
)
from kernelwright.hipify.translate import Translation, functions_text

_HEAD = """// {name}, translated from PTX{target}. A kernel has the name of its machine code:
// launch it by hipModuleGetFunction, with arguments of the sizes that its parameters have.
#include <hip/hip_runtime.h>
"""
NO_FUSING = "#pragma clang fp contract(off)\n"
_WORD = re.compile(r"%?[A-Za-z_$][\w$]*")
_PLACE = re.compile(r"(generic\(\s*)?([%A-Za-z_$][\w$]*)\s*(?(1)\))\s*(?:\+\s*(\w+))?")
"""An address among initial values. Source: PTX ISA 9.0, section 5.4, initializers."""


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
    variables = list(_variables(module, left))
    needs = ["ptx_types"]
    needs += [need for _, written in functions for need in written.needs]
    parts = [_HEAD.format(name=name, target=f" of {module.target}" if module.target else "")]
    parts += [functions_text(needs), NO_FUSING, "\n"]
    parts += [f"{line}\n" for line in variables]
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
            own = identifier(name)
            shared[name] = f"((char*){own}())"
            accessors.append(
                f"static __device__ {kind}* {own}() {{ __shared__ {kind} memory[{max(n, 1)}]; "
                "return memory; }\n"
            )
    return shared, accessors


def _variables(module: Module, left: list[Untranslated]) -> Iterator[str]:
    """Yield declarations of the variables in global and constant memory.

    Those whose initial values cannot be written are added to ``left``.
    """
    for variable in module.variables.values():
        if variable.space not in ("global", "const"):
            continue
        kind, n = element_type(variable)
        name = identifier(variable.name)
        if variable.is_extern:
            yield f'extern "C" __device__ {kind} {name}[{max(n, 1)}];'
            continue
        mark = "__constant__" if variable.space == "const" else "__device__"
        try:
            if any(_WORD.match(word) for word in variable.initial):
                yield _with_addresses(variable, module, name)
                continue
            start = f" = {{{', '.join(_words(variable, kind))}}}" if variable.initial else ""
        except UnreadableError as error:
            advice = "set it from the host, or write its C++ in this place"
            left.append(Untranslated(variable.line, f"{variable.name} = …", str(error), advice))
            start = ""
        yield f'extern "C" {{ {mark} {kind} {name}[{max(n, 1)}]{start}; }}'


def _with_addresses(variable: Variable, module: Module, name: str) -> str:
    """Return a variable that holds addresses, such as a table of virtual functions."""
    if BYTES.get(variable.type) != 8:
        raise UnreadableError(f"an address in a variable of {variable.type}")
    listed = ", ".join(f"(const void*){_address(word, module)}" for word in variable.initial)
    declared = "".join(
        f"{signature(module.functions[w])}; " for w in variable.initial
        if w in module.functions and module.functions[w].is_defined
    )  # fmt: skip
    n = max(variable.count or 0, len(variable.initial))
    return f'{declared}\nextern "C" {{ __device__ const void* {name}[{n}] = {{{listed}}}; }}'


def _address(word: str, module: Module) -> str:
    """Return an initial value of 64 bits as an address or a number."""
    if (value := integer_of(word)) is not None:
        return str(value)
    found = _PLACE.fullmatch(word)
    offset = integer_of(found[3] or "0") if found else None
    if found is None or offset is None:
        raise UnreadableError(f"{word} is no initial value")
    if found[2] in module.functions and not offset:
        return f"&{identifier(found[2])}"
    target = module.variables.get(found[2])
    if target is None or target.space not in ("global", "const"):
        raise UnreadableError(f"{found[2]} is not known here")
    at = pointer_to(target)
    return f"({at} + {offset})" if offset else at


def _words(variable: Variable, kind: str) -> Iterator[str]:
    """Yield the initial value of a variable as elements of the type that it has in C++."""
    size = BYTES.get(variable.type)
    if size is None:
        raise UnreadableError(f"a variable of {variable.type}")
    data = b"".join(_bytes_of(word, size) for word in variable.initial)
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


def _bytes_of(word: str, size: int) -> bytes:
    if found := re.fullmatch(r"0[fFdD]([0-9a-fA-F]+)", word):
        return bytes.fromhex(found[1])[::-1]
    value = integer_of(word)
    if value is None:
        raise UnreadableError(f"{word} is no initial value")
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
