"""The interface of emitters: a program and a schedule go in, the text of its kernels comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kernelwright.compiler.ir.ir import Program, Step, Tensor
from kernelwright.compiler.ir.sizes import NotFree

Schedule = Mapping[str, Any]
"""The choices that an emitter made, by name. They are JSON values, so that they can be archived and
refined."""


@dataclass(frozen=True)
class Target:
    """The facts about the machine that an emitter may use."""

    device: str
    """'cpu' or 'cuda:sm_90' and the like."""
    threads: int = 1


@dataclass(frozen=True)
class Derived:
    """Tensors that launches need and that are computed from one other tensor, such as a matrix
    split into parts."""

    tensors: tuple[Tensor, ...]
    """The tensors. None shares memory with the source."""
    source: str
    """The program's tensor that they are computed from."""
    text: str
    """Python statements (joined by newlines) that compute them."""
    steps: tuple[str, ...] = ()
    """The steps whose launches use them."""

    @property
    def name(self) -> str:
        """The name of the first tensor, which no other derivation has."""
        return self.tensors[0].name


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
    """Step name → Python statements (unindented, joined by newlines) that allocate the step's
    outputs and run it."""
    runner: str = ""
    """A function in ``definitions`` that runs forward's steps: ``runner(work, steps, inputs)``
    returns what ``steps(*inputs)`` would, and may keep things in ``work`` as long as the module
    has the same weights. If empty, forward runs them itself."""
    derived: tuple[Derived, ...] = ()
    """Tensors that launches use besides the program's own. The file computes them before the first
    launch that needs them; what is computed from a parameter is computed once per version of that
    parameter."""
    conditions: tuple[str, ...] = ()
    """Python expressions that must be true for the kernels to be used."""
    limits: tuple[str, ...] = ()
    """The same of the program's free sizes: how large they may be."""


def text_of(emit: Callable[[Schedule], Emitted], schedule: Schedule) -> str:
    """Return what tells a schedule's text from others: the text, or the schedule where no one text
    serves all sizes."""
    try:
        return repr(emit(schedule))
    except NotFree:
        return repr(schedule)


class Emitter(Protocol):
    """The interface of a dialect's emitter; instances hold no state."""

    dialect: str

    def supports(self, step: Step) -> bool:
        """Return whether this dialect can emit the step; steps that it cannot emit stay with
        PyTorch."""
        ...

    def schedules(self, program: Program, target: Target) -> Iterator[Schedule]:
        """Yield schedules for a first round, the most promising first, each with a distinct
        text."""
        ...

    def refine(self, program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
        """Yield neighbours of a schedule that did well, the most promising first."""
        ...

    def emit(self, program: Program, schedule: Schedule, target: Target) -> Emitted:
        """Return the program's text; the caller guarantees that every step is supported."""
        ...
