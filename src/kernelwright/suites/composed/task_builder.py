"""A task while it is written: its numbers, its module, its inputs, and the known properties of
x."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.suites.composed.sizes import Sizes

FREE, EDGE, TOKENS, LONG = 8, 32, 128, 1024
"""Largest lengths of axes when a task is tried out: an axis that no value depends on, an edge of
an image, positions of a sequence, and any other. They keep a trial of a GPU task quick on a CPU."""


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor: its text in the task, and its length.

    The text is empty if the task has no name for it, as after an unpadded convolution.
    """

    text: str
    n: int


Shape = tuple[Axis, ...]


@dataclass
class TaskBuilder:
    """A task that a family fills in. The value that the forward works on is always called ``x``."""

    draw: random.Random
    sizes: Sizes
    dtype: str = "float32"
    numbers: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Module-level name → its value, and the value when the task is tried out."""
    arguments: list[str] = field(default_factory=list)
    init: list[str] = field(default_factory=list)
    forward: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    """The forward's arguments, and the expressions that draw them."""
    words: list[str] = field(default_factory=list)
    """Descriptions of the forward's steps, in order, for people."""
    shape: Shape = ()
    """The shape of x."""
    feature: int = -1
    """The axis of x that learned vectors run along."""
    is_positive: bool = False
    """Whether x is known to be never negative."""

    # -- numbers and tensors -------------------------------------------------------------------

    def axis(self, name: str, n: int, *, most: int = LONG) -> Axis:
        """Add a module-level number, which is at most ``most`` in a trial."""
        name = self._fresh(name, self.numbers)
        self.numbers[name] = (n, min(n, most))
        return Axis(name, n)

    def argument(self, axis: Axis) -> str:
        """Return the axis as ``__init__`` may write it: as an argument of the constructor."""
        if axis.text in self.numbers and axis.text not in self.arguments:
            self.arguments.append(axis.text)
        return axis.text

    def input(self, name: str, shape: Shape, how: str = "torch.randn({shape})") -> str:
        """Add an argument of the forward, drawn by the expression ``how``."""
        name = self._fresh(name, self.inputs)
        text = ", ".join(axis.text for axis in shape if axis.text)
        if "torch.rand" in how and "randint" not in how and self.dtype != "float32":
            how = how.replace("{shape}", f"{{shape}}, dtype=torch.{self.dtype}")
        self.inputs[name] = how.format(shape=text)
        return name

    def begin(self, shape: Shape, *, feature: int = -1) -> None:
        """Add the first argument, which becomes x."""
        is_uniform = self.draw.random() < 0.25
        self.input("x", shape, "torch.rand({shape})" if is_uniform else "torch.randn({shape})")
        self.shape, self.feature, self.is_positive = shape, feature, is_uniform

    def module(self, name: str, constructor: str) -> str:
        """Add a submodule constructed by the text ``constructor``; return the forward's text for
        it."""
        taken = {line.partition(" = ")[0].removeprefix("self.") for line in self.init}
        name = self._fresh(name, taken)
        if self.dtype != "float32" and constructor.startswith(_WITH_WEIGHTS):
            constructor = f"{constructor[:-1]}, dtype=torch.{self.dtype})"
        self.init.append(f"self.{name} = {constructor}")
        return f"self.{name}"

    def parameter(self, name: str, shape: Sequence[str], how: str = "torch.randn({shape})") -> str:
        """Add a parameter of this shape; its axes are as ``argument`` returns them."""
        text = ", ".join(shape)
        if self.dtype != "float32":
            text += f", dtype=torch.{self.dtype}"
        return self.module(name, f"nn.Parameter({how.format(shape=text)})")

    def vector(self, name: str, how: str = "torch.randn({shape})") -> str:
        """Add a parameter along x's feature axis, in a shape that broadcasts over x."""
        place = self.feature % len(self.shape)
        after = ["1"] * (len(self.shape) - 1 - place)
        return self.parameter(name, [self.argument(self.shape[place]), *after], how)

    # -- steps ---------------------------------------------------------------------------------

    def step(self, expression: str, word: str, *, positive: bool = False) -> None:
        """Set x to the expression."""
        self.forward.append(f"x = {expression}")
        self.words.append(word)
        self.is_positive = positive

    def keep(self, name: str) -> str:
        """Save x under another name."""
        self.forward.append(f"{name} = x")
        return name

    def drop(self, dims: Sequence[int], *, keep: bool) -> None:
        """Record that x has lost these axes, or that they have length 1."""
        gone = {dim % len(self.shape) for dim in dims}
        feature = self.feature % len(self.shape)
        if keep:
            self.shape = tuple(Axis("1", 1) if i in gone else a for i, a in enumerate(self.shape))
        else:
            self.shape = tuple(a for i, a in enumerate(self.shape) if i not in gone)
            self.feature = feature - sum(dim < feature for dim in gone)
        if feature in gone:
            self.feature = -1

    def _fresh(self, name: str, taken: object) -> str:
        names = set(taken)  # type: ignore[call-overload]
        return next(n for n in [name, *(f"{name}{i}" for i in range(2, 99))] if n not in names)


_WITH_WEIGHTS = (
    "nn.Linear", "nn.Conv", "nn.LayerNorm", "nn.GroupNorm", "nn.BatchNorm", "nn.Embedding",
)  # fmt: skip
