"""Constant memory of a kernel, as C: the launch's arguments and shape, constants, addresses.

Source: bank 0 is laid out as by ptxas 11 to 13 for sm_80 to sm_90; ``.nv.info`` says where the
arguments begin.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from kernelwright.lift.cubin import Cubin, KernelFacts, Variable

LAUNCH, COMPILED, PROGRAM, ADDRESSES = 0, 2, 3, 4
"""Banks: the launch's, ptxas's own constants, ``__constant__`` variables, addresses of others."""
STACK_GENERIC, STACK_TOP = (0x20, 0x24), 0x28
WORKSPACE = {0x160: (0x90, 0x8C), 0x210: (0x48, 0x44)}
"""The address of what barriers of the grid count in, its low and its high word, by the place where
arguments begin."""
UNREAD = (0x118, 0x11C, 0x208, 0x20C)
"""Descriptors of global memory, which its accesses name and whose value changes nothing."""


@dataclass(frozen=True)
class KernelBanks:
    """The constant memory that one kernel sees."""

    cubin: Cubin
    facts: KernelFacts

    def word(self, bank: int, offset: int) -> str | None:
        if bank == LAUNCH:
            return self._of_launch(offset)
        if bank == ADDRESSES:
            name = self.cubin.addresses.get(offset & ~7)
            shift = " >> 32" if offset & 4 else ""
            return None if name is None else f"(u32)((u64){name}{shift})"
        data = self.facts.banks.get(bank)
        if bank != PROGRAM and data is not None and 0 <= offset <= len(data) - 4:
            return f"{struct.unpack_from('<I', data, offset)[0]:#x}u"
        at = self.address(bank, offset, f"{offset:#x}u") if bank == PROGRAM else None
        return None if at is None else f"(*(const CONSTANT u32 *)({at}))"

    def address(self, bank: int, fixed: int, offset: str) -> str | None:
        if bank == LAUNCH and fixed >= self.facts.parameter_base:
            return f"(ARGUMENTS + ({offset} - {self.facts.parameter_base:#x}u))"
        for variable in self.cubin.variables:
            begins = variable.offset
            if bank == PROGRAM == variable.bank and begins <= fixed < begins + len(variable.data):
                return f"((BANK){variable.c_name} + ({offset} - {begins:#x}u))"
        return None

    def _of_launch(self, offset: int) -> str | None:
        base = self.facts.parameter_base
        if offset >= base:
            return f"(*(const CONSTANT u32 *)(ARGUMENTS + {offset - base:#x}))"
        if offset < 0x18:
            return f"{'block' if offset < 0xC else 'grid'}_dim({offset // 4 % 3})"
        if offset in STACK_GENERIC:
            return f"(u32)((u64)stack >> {8 * (offset - STACK_GENERIC[0])})"
        if offset in (words := WORKSPACE.get(base, ())):
            return f"(u32)((u64)grid_workspace >> {32 * words.index(offset)})"
        if offset == STACK_TOP:
            return "(u32)sizeof stack"
        return "0u" if offset in UNREAD else None


def declared(variable: Variable) -> str:
    """Return a variable's definition in C; its symbol is the program's own name."""
    size = len(variable.data)
    align = next(n for n in (16, 8, 4, 2, 1) if size % n == 0)  # no access need go beyond it
    data = variable.data.rstrip(b"\0")
    values = f" = {{{', '.join(map(str, data))}}}" if data else ""
    name = f'{variable.c_name}[{size}] __asm__("{variable.name}")'
    return f"BANK_DATA _Alignas({align}) u8 {name}{values};"
