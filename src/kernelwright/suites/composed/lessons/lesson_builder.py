"""A lesson while it is written: the task, and the lines of the kernel for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.suites.composed.lessons.schedule import Schedule
from kernelwright.suites.composed.task_builder import Axis, Shape, TaskBuilder

NAMES = ("x", "x", "x", "x", "input", "inputs", "data", "inp", "a", "A", "t")
RENAMED = ("h", "out", "result", "hidden")  # names that no form gives to an argument
RENAMED_SHARE = 0.15
"""Share of the steps whose result gets another name in the task: people do this, and a reader must
follow it."""
TOLD_SHARE = 0.2
SMALL_WORK = 1 << 20
"""Number of multiplications above which tasks are drawn with longer axes than the forms name."""
UNIFORM = ("torch.rand({shape})", "torch.rand({shape}) * 2 - 0.5", "torch.randn({shape})")


@dataclass
class LessonBuilder(TaskBuilder):
    """A lesson that a form fills in. In kernels the current value is always ``v``, and the first
    input's contents are ``x``, whatever the task calls them."""

    x: str = "x"
    """The task's name for the current value."""
    lines: list[str] = field(default_factory=list)
    """Lines of the kernel since they were last taken."""
    given: dict[str, str] = field(default_factory=dict)
    """Further arguments of the kernel → what the forward passes for them."""
    tuples: dict[str, str] = field(default_factory=dict)
    """Module-level tuples, after the numbers."""
    defaults: dict[str, str] = field(default_factory=dict)
    """Default values of the constructor's arguments that have one."""
    defaulted: set[str] = field(default_factory=set)
    """Arguments of the constructor that are left at their defaults."""
    plain: set[str] = field(default_factory=set)
    """Numbers and tuples that are written in the constructor's arguments, without a name."""
    way: str = ""
    """The sentence before the answer's code on how this kernel works, besides that of its form."""
    place: str = "at"
    """Index at which the kernel reads a learned vector for an element."""
    live: str = "inside"
    """Mask of the reads that are inside the vector."""
    first: str = "x"
    """The task's name for the first input."""
    schedule: Schedule = field(default_factory=Schedule)

    def start(self, shape: Shape, *, feature: int = -1, name: str = "", how: str = "") -> str:
        """Add the first argument, which becomes the current value. Return its name."""
        how = how or self.draw.choice(UNIFORM)
        self.first = self.x = self.input(name or self.draw.choice(NAMES), shape, how)
        self.shape, self.feature, self.is_positive = shape, feature, how == UNIFORM[0]
        return self.x

    def step(self, expression: str, word: str, *, positive: bool = False) -> None:
        """Set the value to the expression, sometimes under a new name."""
        name = self.x
        if self.draw.random() < RENAMED_SHARE:
            taken = {*self.inputs, *self.numbers, *(line.split(" ")[0] for line in self.forward)}
            name = self.draw.choice([n for n in RENAMED if n not in taken] or [name])
        self.forward.append(f"{name} = {expression}")
        self.x = name
        self.words.append(word)
        self.is_positive = positive

    def part(self, expression: str, word: str, name: str) -> None:
        """Append a step that combines x with a statistic of it; half of the time the statistic gets
        a name first."""
        sign, rest = expression.removeprefix(f"{self.x} ")[:2], expression[len(self.x) + 3 :]
        is_part = expression.startswith(f"{self.x} ") and sign in ("/ ", "- ", "* ")
        if is_part and name not in (*self.inputs, self.x) and self.draw.random() < 0.5:
            self.forward.append(f"{name} = {rest}")
            expression = f"{self.x} {sign}{name}"
        self.step(expression, word)

    def take(self) -> list[str]:
        """Return the lines so far and start anew."""
        lines, self.lines = self.lines, []
        return lines

    @property
    def more(self) -> str:
        """The text by which a kernel call passes its further arguments, after the others."""
        return "".join(f", {value}" for value in self.given.values())

    # -- what a constructor holds ----------------------------------------------------------------

    def number(self, name: str, value: float) -> str:
        """Add a module-level number that is an argument of the constructor and held under its
        name."""
        held = {line.partition(" = ")[0].removeprefix("self.") for line in self.init}
        name = self.argument_number(self._fresh(name, {*self.numbers, *self.inputs, *held}), value)
        self.init.append(f"self.{name} = {name}")
        return name

    def argument_number(self, name: str, value: float) -> str:
        """Add a module-level number that is an argument of the constructor; sometimes the argument
        has a default, or the number has no name."""
        name = self._fresh(name, {*self.numbers, *self.inputs, *self.arguments})
        self.numbers[name] = (value, value)
        self.arguments.append(name)
        is_plain = self.draw.random() < TOLD_SHARE
        if self.draw.random() < TOLD_SHARE:
            self.defaults[name] = str(value)
            if self.draw.random() < 0.4:
                self.defaulted.add(name)
                is_plain = True
        if is_plain:
            self.plain.add(name)
        return name

    def small(self) -> str:
        """Return the argument of a norm's constructor besides its features: sometimes an epsilon
        that is left at its default."""
        if self.draw.random() > TOLD_SHARE or "eps" in self.arguments:
            return ""
        self.arguments.append("eps")
        self.defaults["eps"] = self.draw.choice(("1e-5", "1e-3"))
        self.defaulted.add("eps")
        return ", eps=eps"

    def held(self, name: str, shape: Sequence[str], how: str = "torch.randn({shape})") -> str:
        """Add a parameter whose shape is written out, or is an argument of the constructor."""
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
        """Add a parameter along the features, in a shape that broadcasts over the value."""
        place = self.feature % len(self.shape)
        after = ["1"] * (len(self.shape) - 1 - place)
        return self.held(name, [self.shape[place].text, *after])

    def lengths(
        self, *axes: tuple[Sequence[str], Sequence[int]], is_work: bool = False, most: int = 96
    ) -> list[Axis]:
        """Add axes, each with one of its names and one of its lengths. In a large task they are
        longer, to fit the size of a tensor or a product's work; a single axis stays short."""
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
        """The constructor's arguments; those with a default come last, and of these, unused ones
        last."""
        return sorted(
            self.arguments, key=lambda name: (name in self.defaults, name in self.defaulted)
        )

    @property
    def is_large(self) -> bool:
        return self.sizes.work > SMALL_WORK


def block(lines: Sequence[str], depth: int = 1) -> str:
    """Return the lines of a function's body."""
    return "".join(f"{'    ' * depth}{line}\n" for line in lines)
