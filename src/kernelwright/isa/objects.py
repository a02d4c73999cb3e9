"""Code objects for AMD GPUs: kernels, variables and the loaded image of an ELF file.

Source: LLVM, "User Guide for AMDGPU Backend": Code Object V5 Metadata, Kernel Descriptor,
Relocation Records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError

_DESCRIPTOR_BYTES = 64
_RELATIVE64, _ABS64 = 13, 3
"""R_AMDGPU_RELATIVE64 and R_AMDGPU_ABS64."""


@dataclass(frozen=True)
class Hidden:
    """One hidden argument of a kernel."""

    kind: str
    offset: int
    n_bytes: int


@dataclass(frozen=True)
class KernelEntry:
    """One kernel of a code object; addresses are offsets in the image."""

    name: str
    entry: int
    lds_bytes: int
    private_bytes: int
    kernarg_bytes: int
    rsrc1: int
    rsrc2: int
    properties: int
    preload: int
    n_vectors: int
    width: int
    hidden: tuple[Hidden, ...]


class NoKernelsError(UsageError):
    """The code object has no kernels for AMD GPUs."""


@dataclass(frozen=True)
class CodeObject:
    """The parts of a code object that the emulator needs besides its instructions."""

    generation: int
    """9 for CDNA, 11 for RDNA3."""
    packs_ids: bool
    """Whether one register holds the three indices of a thread."""
    kernels: tuple[KernelEntry, ...]
    symbols: tuple[tuple[str, int, int], ...]
    """(name, offset, bytes) of variables."""
    image_bytes: int
    segments: tuple[tuple[int, bytes], ...]
    addresses: tuple[tuple[int, int], ...]
    """(offset of a word, offset of what it points to)."""


def read_object(path: Path) -> CodeObject:
    """Read a code object.

    Raises:
        UsageError: it is not an AMD code object.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
        except ELFError as error:
            raise UsageError(f"{path} is not a code object", seen=str(error)) from None
        metadata = _metadata(elf)
        if metadata is None:
            raise NoKernelsError(
                f"{path} has no kernels for AMD GPUs", do="name a linked code object"
            )
        segments = [
            (s["p_vaddr"], s.data(), s["p_memsz"]) for s in elf.iter_segments(type="PT_LOAD")
        ]
        size = max(at + n for at, _, n in segments)
        image = bytearray(size)
        for at, data, _ in segments:
            image[at : at + len(data)] = data
        named = _symbols(elf)
        target = str(metadata.get("amdhsa.target", ""))
        is_new = "gfx9" not in target
        kernels = tuple(
            _kernel(raw, image, named[raw[".symbol"]][0]) for raw in metadata["amdhsa.kernels"]
        )
        variables = tuple(
            (name, at, n)
            for name, (at, n) in named.items()
            if n and not name.endswith(".kd") and name not in {k.name for k in kernels}
        )
        return CodeObject(
            generation=11 if is_new else 9,
            packs_ids=is_new or "gfx90a" in target or "gfx94" in target or "gfx95" in target,
            kernels=kernels,
            symbols=variables,
            image_bytes=size,
            segments=tuple((at, data) for at, data, _ in segments if data),
            addresses=tuple(_addresses(elf)),
        )


def _metadata(elf: Any) -> dict[str, Any] | None:
    import msgpack

    for section in elf.iter_sections(type="SHT_NOTE"):
        for note in section.iter_notes():
            if note["n_name"] == "AMDGPU":
                read: dict[str, Any] = msgpack.unpackb(
                    note["n_descdata"], raw=False, strict_map_key=False
                )
                return read
    return None


def _symbols(elf: Any) -> dict[str, tuple[int, int]]:
    """Return offset and size of each object symbol by its name; of the dynamic table those too that
    are missing in the other."""
    found: dict[str, tuple[int, int]] = {}
    for name in (".symtab", ".dynsym"):
        table = elf.get_section_by_name(name)
        for symbol in table.iter_symbols() if table is not None else ():
            if symbol["st_info"]["type"] == "STT_OBJECT" and symbol["st_shndx"] != "SHN_UNDEF":
                found[symbol.name] = (symbol["st_value"], symbol["st_size"])
    return found


def _kernel(raw: dict[str, Any], image: bytearray, at: int) -> KernelEntry:
    descriptor = bytes(image[at : at + _DESCRIPTOR_BYTES])
    (offset,) = struct.unpack_from("<q", descriptor, 16)
    rsrc1, rsrc2, properties, preload = struct.unpack_from("<IIHH", descriptor, 48)
    accumulators = int(raw.get(".agpr_count", 0))
    hidden = tuple(
        Hidden(a[".value_kind"], a[".offset"], a[".size"])
        for a in raw.get(".args", ())
        if str(a[".value_kind"]).startswith("hidden_")
    )
    private = int(raw[".private_segment_fixed_size"])
    if raw.get(".uses_dynamic_stack"):
        private = max(private, DYNAMIC_STACK_BYTES)
    return KernelEntry(
        name=str(raw[".name"]),
        entry=at + offset,
        lds_bytes=int(raw[".group_segment_fixed_size"]),
        private_bytes=private,
        kernarg_bytes=int(raw[".kernarg_segment_size"]),
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        properties=properties,
        preload=preload,
        n_vectors=512 if accumulators else 256,
        width=int(raw[".wavefront_size"]),
        hidden=hidden,
    )


DYNAMIC_STACK_BYTES = 16 << 10
"""Scratch memory of a thread whose functions recurse."""


def _addresses(elf: Any) -> Iterator[tuple[int, int]]:
    """Yield the words that the loader fills with addresses in the image."""
    for section in elf.iter_sections(type="SHT_RELA"):
        if not section["sh_flags"] & 2:  # 2: the section is loaded
            continue
        table = elf.get_section(section["sh_link"])
        for record in section.iter_relocations():
            kind, to = record["r_info_type"], record["r_addend"]
            if kind == _ABS64:
                to += table.get_symbol(record["r_info_sym"])["st_value"]
            elif kind != _RELATIVE64:
                raise UsageError(f"relocation {kind} is unknown", seen=hex(record["r_offset"]))
            yield record["r_offset"], to
