"""The interface of emitters: a program and a schedule in, the text of its kernels out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kernelwright.compiler.ir.ir import Program, Step

Schedule = Mapping[str, Any]
"""The choices an emitter made, by name; JSON values, so that they can be archived and refined."""


@dataclass(frozen=True)
class Target:
    """What an emitter may know of the machine."""

    device: str
    """'cpu' or 'cuda:sm_90' and the like."""
    threads: int = 1


@dataclass(frozen=True)
class Derived:
    """A tensor that launches need and that one other tensor decides, such as a matrix in parts."""

    name: str
    source: str
    """The program's tensor that it follows from."""
    text: str
    """Python statements (joined by newlines) that make it."""
    steps: tuple[str, ...] = ()
    """The own steps whose launches name it."""


@dataclass(frozen=True)
class Emitted:
    """The parts of a candidate file that depend on the dialect.

    The file's ``forward`` has one Python variable per tensor of the program, under the tensor's
    name; inputs, attributes and the outputs of earlier steps are bound when a launch runs.
    """

    imports: tuple[str, ...]
    """Import lines, for example 'import ctypes'."""
    definitions: str
    """Module-level text: the kernels, and the few lines that build and load them."""
    launches: Mapping[str, str]
    """By name of the step: Python statements (unindented, joined by newlines) that allocate the
    step's outputs and run it."""
    runner: str = ""
    """A function in ``definitions`` that runs forward's steps: ``runner(module, steps, inputs)``
    gives what ``steps(*inputs)`` would. Empty: forward runs them itself."""
    derived: tuple[Derived, ...] = ()
    """What launches name beside the program's tensors. The file makes it before the first launch
    that needs it; where a parameter decides it, once per version of that parameter."""
    conditions: tuple[str, ...] = ()
    """Python expressions that hold where the kernels may be used."""


class Emitter(Protocol):
    """One per dialect; instances hold no state."""

    dialect: str

    def supports(self, step: Step) -> bool:
        """Whether this dialect can emit the step; what it cannot stays with PyTorch."""
        ...

    def schedules(self, program: Program, target: Target) -> Iterator[Schedule]:
        """Schedules for a first round, the most promising first; distinct texts only."""
        ...

    def refine(self, program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
        """Neighbours of a schedule that did well, the most promising first."""
        ...

    def emit(self, program: Program, schedule: Schedule, target: Target) -> Emitted:
        """The text. Every own step of the program is supported."""
        ...
