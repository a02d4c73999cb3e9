"""Pointwise steps: the spellings in tasks, and the lines of Triton that change ``v``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.suites.composed.chain import pick
from kernelwright.suites.composed.lessons import constructor
from kernelwright.suites.composed.lessons.functions import MODULES, MORE, WRITTEN, kernel_lines
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder
from kernelwright.suites.composed.operators import Operator

ATTRIBUTES = ("act", "activation", "fn", "nonlinearity", "")
"""Names of a submodule; the empty one stands for the name of its function."""
LEARNED = (
    ("{x} + {w}", "v = v + {w}", "bias", ("bias", "shift", "add_value", "offset")),
    ("{x} * {w}", "v = v * {w}", "learned scale", ("scale", "weight", "multiplier")),
    ("{x} - {w}", "v = v - {w}", "learned shift", ("subtract", "center")),
)


def steps(builder: LessonBuilder, low: int, high: int, *, learned: bool = True) -> None:
    """Append ``low`` to ``high`` pointwise steps, in the task and in the kernel."""
    last = ""
    for _ in range(builder.draw.randint(low, high)):
        kind = builder.draw.random()
        if kind < 0.14 and learned:
            last = _learned(builder)
        elif kind < 0.19 and learned:
            last = constructor.learned_number(builder)
        elif kind < 0.32:
            last = constructor.numbered(builder, last)
        elif kind < 0.39:
            last = constructor.held(builder)
        elif kind < 0.43:
            last = constructor.clamped(builder)
        elif kind < 0.48:
            last = constructor.self_product(builder)
        else:
            last = operator_step(builder, last)


def operator_step(
    builder: LessonBuilder, last: str = "", table: Sequence[Operator] = WRITTEN
) -> str:
    """Append an operator of the table, other than the last step's. Return its word."""
    operator = pick(builder, table, without=last)
    a, b = builder.draw.choice(operator.numbers)
    modules = [*MODULES.get(operator.word, ()), *[operator.module][: bool(operator.module)]]
    if modules and builder.draw.random() < 0.4:
        name = builder.draw.choice(ATTRIBUTES) or _plain(operator)
        called = builder.module(name, builder.draw.choice(modules).format(a=a, b=b))
        expression = f"{called}({builder.x})"
    else:
        forms = (*operator.forms, *MORE.get(operator.word, ()))
        expression = builder.draw.choice(forms).format(x=builder.x, a=a, b=b)
    builder.lines += kernel_lines(operator, expression, a, b)
    stays = operator.word in ("scaling", "division", "added number") and builder.is_positive
    builder.step(expression, operator.word, positive=operator.positive or stays)
    return operator.word


def _plain(operator: Operator) -> str:
    return "".join(c for c in operator.word.lower().split(" (")[0] if c.isalpha())


def _learned(builder: LessonBuilder) -> str:
    """Append a vector along the features, or one learned number."""
    expression, line, word, names = builder.draw.choice(LEARNED)
    name = builder.draw.choice(names)
    if builder.draw.random() < 0.2 or not builder.place:
        called = builder.held(
            name, ["1"], builder.draw.choice(("torch.randn({shape})", "torch.rand({shape}) + 0.5"))
        )
        read = f"tl.load({called.removeprefix('self.')})"
    else:
        called = builder.along(name)
        mask = f", mask={builder.live}" if builder.live else ""
        read = f"tl.load({called.removeprefix('self.')} + {builder.place}{mask})"
    builder.given[called.removeprefix("self.")] = called
    builder.lines.append(line.format(w=read))
    builder.step(expression.format(x=builder.x, w=called), word)
    return ""
