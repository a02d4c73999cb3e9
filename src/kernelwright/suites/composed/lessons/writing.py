"""The two texts of a lesson: the task, as different people would write it, and the answer."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Sequence

from kernelwright.suites.composed.lessons.page import Page
from kernelwright.suites.composed.text import title

IMPORTS = ("import torch", "import triton", "import triton.language as tl", "from torch import nn")
KINDS = {"False": "bool", "True": "bool", "None": "int", "0": "int", "1": "int"}
"""Of arguments that are left to their defaults, by these; others are numbers."""
HEAD = """@triton.jit
def {name}({parameters}, BLOCK: tl.constexpr):
"""


def head(*parameters: str, name: str = "kernel") -> str:
    """The first lines of a kernel."""
    return HEAD.format(name=name, parameters=", ".join(parameters))


def answer(page: Page, kernel: str, forward: str) -> str:
    """The file: the kernels, and the module with the task's constructor."""
    told = [f"{a}={page.defaults[a]}" if a in page.defaults else a for a in page.signature]
    arguments = ", ".join(["self", *told])
    module = ["class ModelNew(nn.Module):", f"    def __init__({arguments}):"]
    module += ["        super().__init__()", *(f"        {line}" for line in page.init), ""]
    module += [f"    def forward({', '.join(['self', *page.inputs])}):"]
    module += [textwrap.indent(forward.strip("\n"), " " * 8)]
    return "\n".join([*IMPORTS, "", "", kernel.strip("\n"), "", "", *module]) + "\n"


class Writing:
    """How one person writes a task; the choices are drawn once."""

    def __init__(self, page: Page, draw: random.Random) -> None:
        self.page, self.draw = page, draw
        self.is_typed = draw.random() < 0.5
        self.is_old = draw.random() < 0.6
        self.is_told = draw.random()
        self.is_at_once = draw.random() < 0.35
        self.is_bare = draw.random() < 0.12 and not page.is_large
        self.is_last_returned = draw.random() < 0.6

    def text(self, *, is_trial: bool = False) -> str:
        """The task in KernelBench's format."""
        parts = [*self._imports(), "", *self._gap(), *self._module(), "", *self._inputs(is_trial)]
        text = "\n".join(parts) + "\n"
        return self._bared(text) if self.is_bare else text

    def _gap(self) -> list[str]:
        return [] if self.is_old else [""]

    def _imports(self) -> list[str]:
        body = "\n".join([*self.page.forward, *self.page.init])
        lines = ["import torch", "import torch.nn as nn"]
        lines += ["import math"] * ("math." in body)
        return lines + ["import torch.nn.functional as F"] * bool(re.search(r"\bF\.", body))

    def _module(self) -> list[str]:
        page = self.page
        lines = ["class Model(nn.Module):", *self._said(title(page), 1, 0.25)]
        kinds = {a: _kind(page, a) for a in page.arguments}
        given = [
            name + (f": {kinds[name]}" if self.is_typed and kinds[name] else "")
            + (f" = {page.defaults[name]}" if name in page.defaults and self.is_typed
               else f"={page.defaults[name]}" if name in page.defaults else "")
            for name in page.signature
        ]  # fmt: skip
        lines += [f"    def __init__({', '.join(['self', *given])}):"]
        if page.arguments:
            lines += self._said("Keeps what the forward needs.", 2, 0.7, page.signature)
        lines += ["        super(Model, self).__init__()" if self.is_old
                  else "        super().__init__()"]  # fmt: skip
        lines += [f"        {line}" for line in page.init]
        tensor = ": torch.Tensor" if self.is_typed else ""
        given = [name + tensor for name in page.inputs]
        end = " -> torch.Tensor" if self.is_typed else ""
        lines += ["", f"    def forward({', '.join(['self', *given])}){end}:"]
        lines += self._said(title(page), 2, 0.55, tuple(page.inputs))
        return [*lines, *(f"        {line}" for line in self._forward())]

    def _forward(self) -> list[str]:
        lines = list(self.page.forward)
        name, _, value = lines[-1].partition(" = ")
        if self.is_last_returned and name == self.page.x:
            lines[-1] = f"return {value}"
        else:
            lines.append(f"return {self.page.x}")
        if self.is_told > 0.85:
            words = [w.capitalize() for w in self.page.words]
            if len(words) == len(self.page.forward):
                pairs = zip(words, lines, strict=False)
                said = [part for word, line in pairs for part in (f"# {word}", line)]
                lines = said + lines[len(words) :]
        return lines

    def _said(
        self, sentence: str, depth: int, least: float, names: Sequence[str] = ()
    ) -> list[str]:
        """A docstring, where this person writes one."""
        if self.is_told < least:
            return []
        shift = "    " * depth
        lines = [f'{shift}"""', *(f"{shift}{line}" for line in textwrap.wrap(sentence, 84))]
        if names:
            lines += ["", f"{shift}Args:"]
            lines += [f"{shift}    {name}: the {name.replace('_', ' ')}" for name in names]
        return [*lines, f'{shift}"""', *[""] * (depth == 1 and not self.is_old)]

    def _inputs(self, is_trial: bool) -> list[str]:
        page = self.page
        lines = [
            f"{name} = {values[is_trial]}"
            for name, values in page.numbers.items()
            if name not in page.plain
        ]
        lines += [f"{n} = {text}" for n, text in page.tuples.items() if n not in page.plain]
        lines += ["", *self._gap(), "def get_inputs():"]
        if self.is_at_once:
            lines += [f"    return [{', '.join(page.inputs.values())}]"]
        else:
            lines += [f"    {name} = {how}" for name, how in page.inputs.items()]
            lines += [f"    return [{', '.join(page.inputs)}]"]
        end = "  # No special initialization inputs needed" * (not page.arguments and self.is_old)
        given = ", ".join(
            self._value(name) if name in page.plain else name
            for name in page.signature
            if name not in page.untold
        )
        return [*lines, "", *self._gap(), "def get_init_inputs():", f"    return [{given}]{end}"]

    def _value(self, name: str) -> str:
        found = self.page.tuples.get(name)
        return found or str(self.page.numbers[name][0])

    def _bared(self, text: str) -> str:
        """With numbers where the module-level names stood."""
        head, mark, tail = text.partition("def get_inputs():")
        for name, text_of in [*self.page.tuples.items(), *self.page.numbers.items()]:
            value = text_of if isinstance(text_of, str) else str(text_of[0])
            head = re.sub(rf"^{name} = .*\n", "", head, flags=re.M)
            tail = re.sub(rf"(?<![\w.]){name}\b(?! ?=)", value, tail)
        return head.rstrip("\n") + "\n" * (3 - self.is_old) + mark + tail


def _kind(page: Page, argument: str) -> str:
    if argument in page.tuples:
        return "tuple"
    if argument in page.numbers:
        return type(page.numbers[argument][0]).__name__
    return KINDS.get(page.defaults[argument], "float") if argument in page.untold else ""
