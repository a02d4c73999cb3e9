"""The two texts of a lesson: the task, as different people would write it, and the answer."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Sequence

from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder
from kernelwright.suites.composed.text import title

IMPORTS = ("import torch", "import triton", "import triton.language as tl", "from torch import nn")
KINDS = {"False": "bool", "True": "bool", "None": "int", "0": "int", "1": "int"}
"""Types of arguments that are left at their defaults, by default; others are numbers."""
HEAD = """@triton.jit
def {name}({parameters}, BLOCK: tl.constexpr):
"""


def head(*parameters: str, name: str = "kernel") -> str:
    """Return the first lines of a kernel."""
    return HEAD.format(name=name, parameters=", ".join(parameters))


def answer(builder: LessonBuilder, kernel: str, forward: str) -> str:
    """Return the file: the schedule, the kernels, and the module with the task's constructor."""
    parameters = [
        f"{a}={builder.defaults[a]}" if a in builder.defaults else a for a in builder.signature
    ]
    arguments = ", ".join(["self", *parameters])
    module = ["class ModelNew(nn.Module):", f"    def __init__({arguments}):"]
    module += ["        super().__init__()", *(f"        {line}" for line in builder.init), ""]
    module += [f"    def forward({', '.join(['self', *builder.inputs])}):"]
    module += [textwrap.indent(forward.strip("\n"), " " * 8)]
    line = builder.schedule.line("\n".join([kernel, *module]))
    return "\n".join([*IMPORTS, "", line, "", "", kernel.strip("\n"), "", "", *module]) + "\n"


class Writing:
    """How one person writes a task; the choices are drawn once."""

    def __init__(self, builder: LessonBuilder, draw: random.Random) -> None:
        self.builder, self.draw = builder, draw
        self.is_typed = draw.random() < 0.5
        self.is_old = draw.random() < 0.6
        self.is_told = draw.random()
        self.is_at_once = draw.random() < 0.35
        self.is_bare = draw.random() < 0.12 and not builder.is_large
        self.is_last_returned = draw.random() < 0.6

    def text(self, *, is_trial: bool = False) -> str:
        """Return the task in KernelBench's format."""
        parts = [*self._imports(), "", *self._gap(), *self._module(), "", *self._inputs(is_trial)]
        text = "\n".join(parts) + "\n"
        return self._bared(text) if self.is_bare else text

    def _gap(self) -> list[str]:
        return [] if self.is_old else [""]

    def _imports(self) -> list[str]:
        body = "\n".join([*self.builder.forward, *self.builder.init])
        lines = ["import torch", "import torch.nn as nn"]
        lines += ["import math"] * ("math." in body)
        return lines + ["import torch.nn.functional as F"] * bool(re.search(r"\bF\.", body))

    def _module(self) -> list[str]:
        builder = self.builder
        lines = ["class Model(nn.Module):", *self._said(title(builder), 1, 0.25)]
        kinds = {a: _kind(builder, a) for a in builder.arguments}
        given = [
            name
            + (f": {kinds[name]}" if self.is_typed and kinds[name] else "")
            + (
                f" = {builder.defaults[name]}"
                if name in builder.defaults and self.is_typed
                else f"={builder.defaults[name]}"
                if name in builder.defaults
                else ""
            )
            for name in builder.signature
        ]
        lines += [f"    def __init__({', '.join(['self', *given])}):"]
        if builder.arguments:
            lines += self._said("Keeps what the forward needs.", 2, 0.7, builder.signature)
        lines += [
            "        super(Model, self).__init__()" if self.is_old else "        super().__init__()"
        ]
        lines += [f"        {line}" for line in builder.init]
        tensor = ": torch.Tensor" if self.is_typed else ""
        given = [name + tensor for name in builder.inputs]
        end = " -> torch.Tensor" if self.is_typed else ""
        lines += ["", f"    def forward({', '.join(['self', *given])}){end}:"]
        lines += self._said(title(builder), 2, 0.55, tuple(builder.inputs))
        return [*lines, *(f"        {line}" for line in self._forward())]

    def _forward(self) -> list[str]:
        lines = list(self.builder.forward)
        name, _, value = lines[-1].partition(" = ")
        if self.is_last_returned and name == self.builder.x:
            lines[-1] = f"return {value}"
        else:
            lines.append(f"return {self.builder.x}")
        if self.is_told > 0.85:
            words = [w.capitalize() for w in self.builder.words]
            if len(words) == len(self.builder.forward):
                pairs = zip(words, lines, strict=False)
                said = [part for word, line in pairs for part in (f"# {word}", line)]
                lines = said + lines[len(words) :]
        return lines

    def _said(
        self, sentence: str, depth: int, least: float, names: Sequence[str] = ()
    ) -> list[str]:
        """Return a docstring, if this person writes one."""
        if self.is_told < least:
            return []
        shift = "    " * depth
        lines = [f'{shift}"""', *(f"{shift}{line}" for line in textwrap.wrap(sentence, 84))]
        if names:
            lines += ["", f"{shift}Args:"]
            lines += [f"{shift}    {name}: the {name.replace('_', ' ')}" for name in names]
        return [*lines, f'{shift}"""', *[""] * (depth == 1 and not self.is_old)]

    def _inputs(self, is_trial: bool) -> list[str]:
        builder = self.builder
        lines = [
            f"{name} = {values[is_trial]}"
            for name, values in builder.numbers.items()
            if name not in builder.plain
        ]
        lines += [f"{n} = {text}" for n, text in builder.tuples.items() if n not in builder.plain]
        lines += ["", *self._gap(), "def get_inputs():"]
        if self.is_at_once:
            lines += [f"    return [{', '.join(builder.inputs.values())}]"]
        else:
            lines += [f"    {name} = {how}" for name, how in builder.inputs.items()]
            lines += [f"    return [{', '.join(builder.inputs)}]"]
        end = "  # No special initialization inputs needed" * (
            not builder.arguments and self.is_old
        )
        given = ", ".join(
            self._value(name) if name in builder.plain else name
            for name in builder.signature
            if name not in builder.defaulted
        )
        return [*lines, "", *self._gap(), "def get_init_inputs():", f"    return [{given}]{end}"]

    def _value(self, name: str) -> str:
        found = self.builder.tuples.get(name)
        return found or str(self.builder.numbers[name][0])

    def _bared(self, text: str) -> str:
        """Return the text with numbers instead of the module-level names."""
        head, mark, tail = text.partition("def get_inputs():")
        for name, text_of in [*self.builder.tuples.items(), *self.builder.numbers.items()]:
            value = text_of if isinstance(text_of, str) else str(text_of[0])
            head = re.sub(rf"^{name} = .*\n", "", head, flags=re.M)
            tail = re.sub(rf"(?<![\w.]){name}\b(?! ?=)", value, tail)
        return head.rstrip("\n") + "\n" * (3 - self.is_old) + mark + tail


def _kind(builder: LessonBuilder, argument: str) -> str:
    if argument in builder.tuples:
        return "tuple"
    if argument in builder.numbers:
        return type(builder.numbers[argument][0]).__name__
    return KINDS.get(builder.defaults[argument], "float") if argument in builder.defaulted else ""
