"""The parts of a cubin besides its code: parameters, constants, variables, shared memory.

Source: "CUDA Binary Utilities"; the attributes of ``.nv.info`` as ``cuobjdump -elf`` names them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from kernelwright.core.errors import DialectError

KPARAM_INFO, PARAM_CBANK, LONG = 0x17, 0x0A, 4
NOBITS = "SHT_NOBITS"
HEAD_BYTES, N_BANKS = 4, 18


@dataclass(frozen=True)
class Parameter:
    """One argument of a kernel, in bytes from the first."""

    offset: int
    size: int


@dataclass(frozen=True)
class Variable:
    """One variable of the device, or the constants of the program."""

    name: str
    data: bytes
    bank: int = 0
    """3 for ``__constant__`` memory; 0 for global memory."""
    offset: int = 0
    """Its place in its bank."""

    @property
    def c_name(self) -> str:
        """Its name in C, which no register and no operand of a row has."""
        return f"variable_{self.name}"


@dataclass
class KernelFacts:
    """The facts about one kernel that its code does not say."""

    parameters: tuple[Parameter, ...] = ()
    parameter_base: int = 0x160
    shared_bytes: int = 0
    banks: dict[int, bytes] = field(default_factory=dict)
    """Constants of this kernel alone, by their bank."""


@dataclass
class Cubin:
    """All facts of one cubin."""

    kernels: dict[str, KernelFacts] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    addresses: dict[int, str] = field(default_factory=dict)
    """Offsets in constant bank 4 that hold a variable's address → its name in C."""


def read_cubin(data: bytes) -> Cubin:
    """Read an ELF file with NVIDIA's code.

    Raises:
        DialectError: pyelftools is not installed.
    """
    try:
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        raise DialectError(
            "reading a cubin needs pyelftools",
            seen=str(error),
            do='run: pip install "kernelwright[port]"',
        ) from error
    elf = ELFFile(BytesIO(data))
    sections = {section.name: section for section in elf.iter_sections()}
    found = Cubin()
    names = [n.removeprefix(".text.") for n in sections if n.startswith(".text.")]
    found.kernels = {name: _facts(name, sections) for name in names}
    table: Any = sections.get(".symtab")
    symbols = list(table.iter_symbols()) if table is not None else []
    found.variables = tuple(_variables(elf, sections, symbols))
    known = {variable.name: variable.c_name for variable in found.variables}
    found.addresses = dict(_addresses(sections, symbols, known))
    return found


def _facts(kernel: str, sections: dict[str, Any]) -> KernelFacts:
    facts = KernelFacts()
    if info := sections.get(f".nv.info.{kernel}"):
        parameters = []
        for attribute, value in _attributes(info.data()):
            if attribute == KPARAM_INFO:
                _, _, offset, packed = struct.unpack("<IHHI", value)
                parameters.append(Parameter(offset, packed >> 18))
            elif attribute == PARAM_CBANK:
                facts.parameter_base = struct.unpack("<IHH", value)[1]
        facts.parameters = tuple(sorted(parameters, key=lambda p: p.offset))
    if shared := sections.get(f".nv.shared.{kernel}"):
        facts.shared_bytes = shared["sh_size"]
    for bank in range(1, N_BANKS):
        if (own := sections.get(f".nv.constant{bank}.{kernel}")) is not None:
            facts.banks[bank] = _data(own)
    return facts


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes of ``.nv.info``: a format, a number, and two bytes or a length."""
    at = 0
    while at + HEAD_BYTES <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += HEAD_BYTES
        if form == LONG:
            yield attribute, data[at : at + size]
            at += size


def _data(section: Any) -> bytes:
    return bytes(section["sh_size"]) if section["sh_type"] == NOBITS else bytes(section.data())


def _variables(elf: Any, sections: dict[str, Any], symbols: list[Any]) -> Iterator[Variable]:
    """Yield the variables, but not those whose first values hold addresses: they are not lifted."""
    banks = {".nv.constant3": 3, ".nv.global": 0, ".nv.global.init": 0}
    for symbol in symbols:
        number, size = symbol["st_shndx"], symbol["st_size"]
        if not isinstance(number, int) or not size or not symbol.name:
            continue
        section = elf.get_section(number)
        if section.name in banks and symbol["st_info"]["type"] == "STT_OBJECT":
            at = symbol["st_value"]
            if any(at <= place < at + size for place in _relocated(sections, section.name)):
                continue
            data = _data(section)[at : at + size]
            yield Variable(symbol.name, data, banks[section.name], at)


def _relocated(sections: dict[str, Any], name: str) -> list[int]:
    """Return the places in a section that the loader writes addresses to."""
    kinds = (sections.get(f".rel{name}"), sections.get(f".rela{name}"))
    return [r["r_offset"] for kind in kinds if kind is not None for r in kind.iter_relocations()]


def _addresses(
    sections: dict[str, Any], symbols: list[Any], known: dict[str, str]
) -> Iterator[tuple[int, str]]:
    for name in (".rel.nv.constant4", ".rela.nv.constant4"):
        if (section := sections.get(name)) is None:
            continue
        for relocation in section.iter_relocations():
            variable = symbols[relocation["r_info_sym"]].name
            if variable in known:
                yield relocation["r_offset"], known[variable]
