"""A lesson that is being written: the task's draft, and the lines of the kernel for it."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass, field

from kernelwright.compose.chain import apply, pick
from kernelwright.compose.draft import Draft, Shape
from kernelwright.compose.lessons.steps import LINES, WRITTEN

IMPORTS = ("import torch", "import triton", "import triton.language as tl")
MATHS = "from triton.language.extra import libdevice"
HEAD = """@triton.jit
def kernel({parameters}, BLOCK: tl.constexpr):
"""


@dataclass
class Sheet:
    """What a form fills in beside the draft. In kernels the value that is worked on is ``v``."""

    draft: Draft
    lines: list[str] = field(default_factory=list)
    """Of the kernel, since they were last taken."""
    given: dict[str, str] = field(default_factory=dict)
    """The kernel's arguments between the inputs and the output, with what the forward gives."""

    @property
    def draw(self) -> random.Random:
        return self.draft.draw

    def begin(self, shape: Shape, *, feature: int = -1) -> None:
        """The first argument: x, contiguous in the forward."""
        self.draft.begin(shape, feature=feature)

    def steps(self, low: int, high: int) -> None:
        """Some pointwise operators, in the task and in the kernel."""
        last = ""
        for _ in range(self.draw.randint(low, high)):
            operator = pick(self.draft, WRITTEN, without=last)
            a, b = apply(self.draft, operator)
            self.lines += [line.format(a=a, b=b) for line in LINES[operator.word]]
            last = operator.word

    def take(self) -> list[str]:
        """The lines so far; what is written next begins anew."""
        lines, self.lines = self.lines, []
        return lines

    def file(self, kernel: str, forward: str) -> str:
        """The whole file: the kernel, and the module with the task's constructor."""
        draft = self.draft
        head = [*IMPORTS, "from torch import nn"]
        head += [MATHS] if "libdevice." in kernel else []
        arguments = ", ".join(["self", *draft.arguments])
        module = ["class ModelNew(nn.Module):", f"    def __init__({arguments}):"]
        module += ["        super().__init__()", *(f"        {line}" for line in draft.init), ""]
        module += [f"    def forward({', '.join(['self', *draft.inputs])}):"]
        module += [textwrap.indent(forward.strip("\n"), " " * 8)]
        return "\n".join([*head, "", "", kernel.strip("\n"), "", "", *module]) + "\n"


def block(lines: list[str], depth: int = 1) -> str:
    """Lines of a function's body."""
    return "".join(f"{'    ' * depth}{line}\n" for line in lines)


def head(*parameters: str) -> str:
    """The first lines of a kernel."""
    return HEAD.format(parameters=", ".join(parameters))
