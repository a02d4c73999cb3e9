"""A lesson that is being written: the task's draft, and the lines of the kernel for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.suites.composed.draft import Axis, Draft, Shape
from kernelwright.suites.composed.lessons.schedule import Schedule

NAMES = ("x", "x", "x", "x", "input", "inputs", "data", "inp", "a", "A", "t")
RENAMED = ("h", "out", "result", "hidden")  # none that a form gives an argument
RENAMED_SHARE = 0.15
"""Of the steps whose result the task gives another name: people do, and a reader must follow."""
TOLD_SHARE = 0.2
SMALL_WORK = 1 << 20
"""Multiplications; tasks of more are drawn with longer axes than the forms name."""
UNIFORM = ("torch.rand({shape})", "torch.rand({shape}) * 2 - 0.5", "torch.randn({shape})")


@dataclass
class Page(Draft):
    """What a form fills in. In kernels the value that is worked on is always ``v``, and what the
    first input holds is ``x``, whatever the task calls them."""

    x: str = "x"
    """What the task calls the value that is worked on."""
    lines: list[str] = field(default_factory=list)
    """Of the kernel, since they were last taken."""
    given: dict[str, str] = field(default_factory=dict)
    """Further arguments of the kernel, with what the forward gives for them."""
    tuples: dict[str, str] = field(default_factory=dict)
    """Module-level tuples, after the numbers."""
    defaults: dict[str, str] = field(default_factory=dict)
    """Of arguments of the constructor that have one."""
    untold: set[str] = field(default_factory=set)
    """Arguments of the constructor that are left to their defaults."""
    plain: set[str] = field(default_factory=set)
    """Numbers and tuples that stand in the constructor's arguments, without a name."""
    way: str = ""
    """What an answer says before its code of how this kernel goes, beside what its form does."""
    place: str = "at"
    """Where in a learned vector the kernel reads for an element."""
    live: str = "inside"
    """Which of these reads are of the vector."""
    first: str = "x"
    """The first input, as the task calls it."""
    schedule: Schedule = field(default_factory=Schedule)

    def start(self, shape: Shape, *, feature: int = -1, name: str = "", how: str = "") -> str:
        """The first argument; the value that is worked on. Returns its name."""
        how = how or self.draw.choice(UNIFORM)
        self.first = self.x = self.input(name or self.draw.choice(NAMES), shape, how)
        self.shape, self.feature, self.is_positive = shape, feature, how == UNIFORM[0]
        return self.x

    def step(self, expression: str, word: str, *, positive: bool = False) -> None:
        """Let the value be the expression, now and then under a new name."""
        name = self.x
        if self.draw.random() < RENAMED_SHARE:
            taken = {*self.inputs, *self.numbers, *(line.split(" ")[0] for line in self.forward)}
            name = self.draw.choice([n for n in RENAMED if n not in taken] or [name])
        self.forward.append(f"{name} = {expression}")
        self.x = name
        self.words.append(word)
        self.is_positive = positive

    def part(self, expression: str, word: str, name: str) -> None:
        """A step that puts x together with something of it; half of people name that first."""
        sign, rest = expression.removeprefix(f"{self.x} ")[:2], expression[len(self.x) + 3 :]
        is_part = expression.startswith(f"{self.x} ") and sign in ("/ ", "- ", "* ")
        if is_part and name not in (*self.inputs, self.x) and self.draw.random() < 0.5:
            self.forward.append(f"{name} = {rest}")
            expression = f"{self.x} {sign}{name}"
        self.step(expression, word)

    def take(self) -> list[str]:
        """The lines so far; what is written next begins anew."""
        lines, self.lines = self.lines, []
        return lines

    @property
    def more(self) -> str:
        """What a call of the kernel gives for its further arguments, after others."""
        return "".join(f", {value}" for value in self.given.values())

    # -- what a constructor holds ----------------------------------------------------------------

    def number(self, name: str, value: float) -> str:
        """A module-level number and argument of the constructor, held under its name."""
        held = {line.partition(" = ")[0].removeprefix("self.") for line in self.init}
        name = self.told(self._fresh(name, {*self.numbers, *self.inputs, *held}), value)
        self.init.append(f"self.{name} = {name}")
        return name

    def told(self, name: str, value: float) -> str:
        """A module-level number and argument of the constructor; now and then the argument has a
        default, or the number no name."""
        name = self._fresh(name, {*self.numbers, *self.inputs, *self.arguments})
        self.numbers[name] = (value, value)
        self.arguments.append(name)
        is_plain = self.draw.random() < TOLD_SHARE
        if self.draw.random() < TOLD_SHARE:
            self.defaults[name] = str(value)
            if self.draw.random() < 0.4:
                self.untold.add(name)
                is_plain = True
        if is_plain:
            self.plain.add(name)
        return name

    def small(self) -> str:
        """What a norm's constructor is told beside its features: now and then a small number, as
        an argument that nobody gives."""
        if self.draw.random() > TOLD_SHARE or "eps" in self.arguments:
            return ""
        self.arguments.append("eps")
        self.defaults["eps"] = self.draw.choice(("1e-5", "1e-3"))
        self.untold.add("eps")
        return ", eps=eps"

    def held(self, name: str, shape: Sequence[str], how: str = "torch.randn({shape})") -> str:
        """A parameter; its shape stands there, or is an argument of the constructor."""
        if len(shape) == 1 and self.draw.random() < 0.5:
            word = self._fresh(f"{name}_shape", self.tuples)
            self.tuples[word] = f"({shape[0]},)"
            self.arguments.append(word)
            text = word
        else:
            for axis in shape:
                if axis in self.numbers and axis not in self.arguments:
                    self.arguments.append(axis)
            text = ", ".join(shape)
        return self.module(name, f"nn.Parameter({how.format(shape=text)})")

    def along(self, name: str) -> str:
        """A parameter along the features, in a shape that broadcasts over the value."""
        place = self.feature % len(self.shape)
        after = ["1"] * (len(self.shape) - 1 - place)
        return self.held(name, [self.shape[place].text, *after])

    def lengths(
        self, *axes: tuple[Sequence[str], Sequence[int]], is_work: bool = False, most: int = 96
    ) -> list[Axis]:
        """New axes, each with one of its names and one of its lengths; where a task is to be
        large they are longer, as of a tensor, or of a product's work. One alone stays short."""
        lengths = [self.draw.choice(few) for _, few in axes]
        if self.is_large and len(axes) > 1:
            wanted = self.sizes.work if is_work else self.draw.choice(self.sizes.elements)
            factor = (wanted / math.prod(lengths)) ** (1 / len(axes))
            lengths = [max(8, round(n * factor / 8) * 8) for n in lengths]
        found = []
        for (names, _), length in zip(axes, lengths, strict=True):
            free = [name for name in names if name not in self.numbers] or [f"{names[0]}_more"]
            found.append(self.axis(self.draw.choice(free), length, most=most))
        return found

    @property
    def signature(self) -> list[str]:
        """The constructor's arguments, those with a default last, and of these what is not told."""
        return sorted(self.arguments, key=lambda name: (name in self.defaults, name in self.untold))

    @property
    def is_large(self) -> bool:
        return self.sizes.work > SMALL_WORK


def block(lines: Sequence[str], depth: int = 1) -> str:
    """Lines of a function's body."""
    return "".join(f"{'    ' * depth}{line}\n" for line in lines)
