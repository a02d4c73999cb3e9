"""NVIDIA's machine code as text: what cuobjdump and nvdisasm print, read into instructions.

Source: "CUDA Binary Utilities", the instruction sets of Ampere and Hopper; encodings are not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PADDING = "NOP"
_FUNCTION = re.compile(r"^\s*Function : (\S+)\s*$|^\s*\.text\.(\S+?):\s*$")
_TARGET = re.compile(r"(?:\bcode for|\.target)\s+(sm_\d+)")
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:(?P<guard>@!?U?P[0-9T]+)\s+)?"
    r"(?P<mnemonic>[A-Z][A-Z0-9_.]*[A-Za-z0-9_]*)\s*(?P<operands>[^;]*?)\s*;"
)
_CODE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+[^/\s]")
_LABEL = re.compile(r"^\s*(\.L_\w+):")
_LABEL_USE = re.compile(r"`\((\.L_\w+)\)")
_COMMA = re.compile(r",(?![^\[(]*[\])])")
_STICKY = re.compile(r"\.(reuse|WR|RD)\b|\s*&(req|wr|rd)=\S+|\s*\?\w+")
"""Marks of the scheduler, which change no result."""


@dataclass(frozen=True)
class Instruction:
    """One instruction; ``line`` is its line in the text, ``guard`` its predicate or empty."""

    address: int
    line: int
    guard: str
    mnemonic: str
    operands: tuple[str, ...]

    @property
    def base(self) -> str:
        return self.mnemonic.partition(".")[0]

    def __str__(self) -> str:
        words = [self.guard, self.mnemonic, ", ".join(self.operands)]
        return " ".join(word for word in words if word)


@dataclass
class SassKernel:
    """One function of the text."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    strays: list[tuple[int, str]] = field(default_factory=list)
    """Lines that look like instructions and cannot be read, by their numbers."""


@dataclass(frozen=True)
class SassText:
    """All functions of one listing."""

    arch: str
    """'sm_80', for example; empty if the text does not say."""
    kernels: tuple[SassKernel, ...]


def read_sass(text: str) -> SassText:
    """Read a listing of ``cuobjdump -sass`` or of ``nvdisasm -c``."""
    kernels: list[SassKernel] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    arch = _TARGET.search(text)
    for number, line in enumerate(text.splitlines(), 1):
        if named := _FUNCTION.match(line):
            kernels.append(SassKernel(named[1] or named[2]))
        elif label := _LABEL.match(line):
            waiting.append(label[1])
        elif _CODE.match(line):
            if not kernels:
                kernels.append(SassKernel("kernel"))
            if (found := _INSTRUCTION.match(line)) is None:
                kernels[-1].strays.append((number, line.strip()))
                continue
            address = int(found["address"], 16)
            labels |= dict.fromkeys(waiting, address)
            waiting.clear()
            guard = (found["guard"] or "").removeprefix("@")
            operands = _operands(found["operands"])
            kernels[-1].instructions.append(
                Instruction(address, number, guard, found["mnemonic"], operands)
            )
    read = (_whole(kernel, labels) for kernel in kernels if kernel.instructions or kernel.strays)
    return SassText(arch[1] if arch else "", tuple(read))


def _operands(text: str) -> tuple[str, ...]:
    text = _STICKY.sub("", text)
    return tuple(part.strip() for part in _COMMA.split(text)) if text else ()


def _whole(kernel: SassKernel, labels: dict[str, int]) -> SassKernel:
    """Return a kernel without the padding behind it, its labels as addresses."""
    found = kernel.instructions
    while found and found[-1].mnemonic == PADDING:
        found.pop()

    def resolved(operand: str) -> str:
        return _LABEL_USE.sub(
            lambda use: hex(labels[use[1]]) if use[1] in labels else use[0], operand
        )

    kernel.instructions = [
        Instruction(i.address, i.line, i.guard, i.mnemonic, tuple(map(resolved, i.operands)))
        for i in found
    ]
    return kernel
