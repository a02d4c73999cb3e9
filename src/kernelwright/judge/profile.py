"""TaskProfile: what the reference does, found out once, before any candidate is judged.

Everything here is read off a few runs of the reference (``reference.study``) and never changes
afterwards. Checks ask it whether they apply; comparisons ask it how much a result may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.perturb.fixed import Fixed
from kernelwright.judge.sandbox.entries import Path


@dataclass(frozen=True)
class Results:
    """The results of a call, and the owner of their memory.

    Lists of booleans go with the outputs, those of ``changed`` with the tensors of the arguments.
    """

    example: list[torch.Tensor]
    """The outputs' shapes and dtypes, without memory."""
    nesting: str
    """The nesting of outputs, in the form of ``loaders.plain.nesting``."""
    entries: tuple[Path, ...]
    """The places in lists it is given at which the reference puts results."""
    changed: list[bool]
    """True if the reference writes to the tensor: it is then a result as well."""
    returned: list[bool]
    """True if the output lies in the memory of an argument."""
    ours: list[bool]
    """True if it lies in memory that the judge overwrites: an argument's or a weight's."""
    lent: list[bool]
    """True if it is the same memory in every call."""
    overlapping: frozenset[tuple[int, int]]
    """Pairs of outputs that share memory, by their numbers."""


@dataclass(frozen=True)
class Work:
    """The arithmetic of one call."""

    flops: int
    terms: list[float]
    """The number of terms that each output's numbers may be sums of."""
    moved_bytes: int
    """Bytes of all inputs and outputs."""
    convolves: bool
    factorises: bool
    """True if it takes a matrix apart: singular ones then have no answer."""
    writes_weights: bool
    """True if it writes to its own weights, so that each call needs a copy of the module."""


@dataclass(frozen=True)
class Inputs:
    """Properties of the task's own inputs."""

    fixed: Fixed
    """Tensors that are the same in every draw, and how the judge varies them."""
    fixed_integers: list[bool]
    """By tensor, whether it holds integers or a mask that are the same in every draw."""
    n_tensors: int
    """Floating-point tensors that a distribution changes."""
    n_collisions: int
    """Arguments with integers that can be made equal to what the reference compares them with."""
    is_symmetric: bool
    has_integers: bool
    has_numbers: bool
    """True if there are Python floats among them."""
    can_skew: bool


@dataclass(frozen=True, eq=False)
class Shapes:
    """A further set of inputs that the task declares, besides those that are timed."""

    name: str
    number: int
    """Its place in what ``get_other_inputs`` returns."""
    example: list[torch.Tensor]
    terms: list[float]


@dataclass(frozen=True)
class TaskProfile:
    """The behaviour of the reference."""

    results: Results
    work: Work
    inputs: Inputs
    asks_for_specials: bool
    """True if it asks for NaN or infinities: what it does with them is part of the task then."""
    asks_for_zeros: bool
    """True if it compares inputs with zero, likewise."""
    precision: str
    """A reduced precision that was asked for, or empty."""
    may_round_to_tf32: bool
    """True if the library may round the reference's convolutions to TF32 on this device."""
    weight_sets: frozenset[str] = frozenset()
    """The sets of weights besides the usual one, by the names of ``perturb.weight_sets``."""
    shapes: Mapping[str, Shapes] = field(default_factory=dict)
    warnings: tuple[Warned, ...] = ()
    """What a user should know of every verdict on this task."""

    @property
    def is_doubtful(self) -> bool:
        """Whether a win on this task proves less than one on others."""
        return any(one.code is not WarningCode.EVAL_MODE for one in self.warnings)

    @property
    def has_weights(self) -> bool:
        return bool(self.weight_sets)

    @property
    def is_coarse(self) -> bool:
        """True if errors as large as float16's are allowed, so that only its range shows it."""
        return self.may_round_to_tf32 or self.precision in ("tf32", "bf16")
