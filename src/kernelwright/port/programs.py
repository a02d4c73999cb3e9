"""Programs of a project: a unit with a main function, and the units that it needs, linked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.dialects.simt import machine
from kernelwright.port.build_flags import NO_FLAGS, Flags

_MAIN = re.compile(r"^[^\n/*\"#]*(?<![\w.>])main\s*\([^;\n]*(\n|\{|\))", re.MULTILINE)
"""The definition of a main function, as it may be written in C and C++."""
_MANGLED = re.compile(r"\d+")
_OF_DEVICE = r"__(device|constant|global|managed)__[^;{}()=]*\b%s\b"
"""The beginning of a device function or variable of some name."""
HOST = (".cpp", ".cc", ".cxx")
"""Suffixes of units that a compiler for the host reads."""
MAX_ROUNDS = 40
"""Limit on attempts to link one program; each adds the units that define what is missing."""


@dataclass(frozen=True)
class Unit:
    """One compilation unit on one side of a port."""

    name: str
    """Its path in the project, by which messages name it."""
    text: str
    flags: Flags = NO_FLAGS

    @property
    def is_program(self) -> bool:
        """Whether it has a main function."""
        return _MAIN.search(self.text) is not None


@dataclass(frozen=True)
class Program:
    """A unit with a main function, and the other units that it may be linked with."""

    main: Unit
    others: tuple[Unit, ...] = ()

    @classmethod
    def of(cls, text: str, name: str = "program", flags: Flags = NO_FLAGS) -> Program:
        """Return a program of a single unit."""
        return cls(Unit(name, text, flags))


@dataclass
class Builder:
    """Builds programs for the emulation in ``folder``; each unit is compiled once."""

    folder: Path
    rewritten: Callable[[str], str] = str
    """The change to the text of each unit and header before it is compiled."""
    linked: tuple[Path, ...] = ()
    """Objects and shared libraries that every program is linked with."""
    _objects: dict[str, Path | machine.BuildError] = field(default_factory=dict)

    def build(self, program: Program) -> tuple[Path, tuple[str, ...]]:
        """Return the path of the built program and the names of the units that it consists of.

        Other units are taken as a linker takes them from an archive: those that define what is
        missing, the nearest in the tree first.

        Raises:
            DialectError: this machine cannot build it at all.
            BuildError: a unit does not compile, or nothing defines what one of them uses.
        """
        units, objects = [program.main], [self._object(program.main)]
        built = self.folder / f"{len(self._objects)}.program"
        apart_: set[str] = set()
        for _ in range(MAX_ROUNDS):
            try:
                machine.link([*objects, *self.linked], built)
                return built, tuple(unit.name for unit in units)
            except machine.UndefinedError as error:
                added = list(self._defining(error, program, units))
                if not added:
                    raise
                units += added
                objects += [self._object(unit) for unit in added]
            except machine.RepeatedError as error:
                if apart_ & set(error.names) or not self._are_of_devices(error.names, units):
                    raise
                apart_ |= set(error.names)
                for object_ in objects:
                    machine.keep_apart(object_, error.names)
        raise machine.BuildError(f"it needs more than {MAX_ROUNDS} rounds of linking")

    def _are_of_devices(self, names: Sequence[str], units: Sequence[Unit]) -> bool:
        """Return whether names are device code's, of which each unit has its own, unless the
        project is compiled with ``-rdc=true``: then none is defined twice."""
        texts = [unit.text for unit in units]
        texts += [p.read_text(errors="replace") for p in self.folder.rglob("*-headers/**/*.*")]
        return all(
            any(re.search(_OF_DEVICE % re.escape(plain_name(name)), text) for text in texts)
            for name in names
        )

    def _defining(
        self, error: machine.UndefinedError, program: Program, units: Sequence[Unit]
    ) -> Iterator[Unit]:
        """Yield the units that define missing names.

        Raises:
            BuildError: the only unit that mentions a name does not compile.
        """
        added: list[Unit] = []
        others = sorted(program.others, key=lambda unit: apart(unit.name, program.main.name))
        for name in error.names:
            if any(name in defined_names(self._object(unit)) for unit in added):
                continue
            word = re.compile(rf"\b{re.escape(plain_name(name))}\b")
            refused: list[machine.BuildError] = []
            for unit in others:
                if unit in units or unit in added or not word.search(unit.text):
                    continue
                try:
                    is_found = name in defined_names(self._object(unit))
                except machine.BuildError as fault:
                    refused.append(machine.BuildError(f"{unit.name}: {fault}"))
                    continue
                if is_found:
                    added.append(unit)
                    yield unit
                    break
            else:
                if refused:
                    raise refused[0]

    def _object(self, unit: Unit) -> Path:
        key = hashlib.sha256(repr(unit).encode(errors="surrogateescape")).hexdigest()
        if key not in self._objects:
            folder = self.folder / str(len(self._objects))
            folder.mkdir(parents=True)
            self._objects[key] = self._compiled(unit, folder)
        found = self._objects[key]
        if isinstance(found, machine.BuildError):
            raise found
        return found

    def _compiled(self, unit: Unit, folder: Path) -> Path | machine.BuildError:
        name, flags = Path(unit.name).name, unit.flags
        try:
            if unit.name.endswith(".c"):
                return machine.compile_c(
                    unit.text,
                    folder=folder,
                    name=name,
                    includes=flags.includes,
                    defines=flags.defines,
                )
            return machine.compile_unit(
                unit.text,
                folder=folder,
                name=name,
                includes=flags.includes,
                defines=flags.defines,
                rewritten=self.rewritten,
                is_host=Path(unit.name).suffix in HOST,
            )
        except machine.BuildError as error:
            return error


def apart(name: str, other: str) -> tuple[int, str]:
    """Return how far two files of a tree are apart, in folders; ties are sorted by name."""
    one, two = Path(name).parent.parts, Path(other).parent.parts
    shared = sum(a == b for a, b in zip(one, two, strict=False))
    return len(one) - shared + len(two) - shared, name


def defined_names(object_: Path) -> frozenset[str]:
    """Return the names that other objects can take from an object file."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with object_.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            return frozenset()
        return frozenset(
            symbol.name
            for symbol in table.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"
        )


def plain_name(symbol: str) -> str:
    """Return the last name in a mangled C++ symbol's nested name; a C symbol is its own name.

    Source: Itanium C++ ABI, 5.1: each name is preceded by its length.
    """
    if not symbol.startswith("_Z"):
        return symbol
    rest = symbol[2:].lstrip("NKVTSLI")
    name = ""
    while found := _MANGLED.match(rest):
        end = found.end() + int(found[0])
        name, rest = rest[found.end() : end], rest[end:]
    return name or symbol
