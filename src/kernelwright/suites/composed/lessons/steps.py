"""Pointwise steps: how tasks write them, and the lines of Triton that change ``v``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.suites.composed.chain import pick
from kernelwright.suites.composed.lessons import constructor
from kernelwright.suites.composed.lessons.functions import MODULES, MORE, WRITTEN, kernel_lines
from kernelwright.suites.composed.lessons.page import Page
from kernelwright.suites.composed.operators import Operator

ATTRIBUTES = ("act", "activation", "fn", "nonlinearity", "")
"""What a submodule is called; the last: as its function is."""
LEARNED = (
    ("{x} + {w}", "v = v + {w}", "bias", ("bias", "shift", "add_value", "offset")),
    ("{x} * {w}", "v = v * {w}", "learned scale", ("scale", "weight", "multiplier")),
    ("{x} - {w}", "v = v - {w}", "learned shift", ("subtract", "center")),
)  # fmt: skip


def steps(page: Page, low: int, high: int, *, learned: bool = True) -> None:
    """Some pointwise steps, in the task and in the kernel."""
    last = ""
    for _ in range(page.draw.randint(low, high)):
        kind = page.draw.random()
        if kind < 0.14 and learned:
            last = _learned(page)
        elif kind < 0.19 and learned:
            last = constructor.learned_number(page)
        elif kind < 0.32:
            last = constructor.numbered(page, last)
        elif kind < 0.39:
            last = constructor.held(page)
        elif kind < 0.43:
            last = constructor.clamped(page)
        elif kind < 0.48:
            last = constructor.self_product(page)
        else:
            last = operator_step(page, last)


def operator_step(page: Page, last: str = "", table: Sequence[Operator] = WRITTEN) -> str:
    """An operator of the table, but not the last step's. Returns its word."""
    operator = pick(page, table, without=last)
    a, b = page.draw.choice(operator.numbers)
    modules = [*MODULES.get(operator.word, ()), *[operator.module][: bool(operator.module)]]
    if modules and page.draw.random() < 0.4:
        name = page.draw.choice(ATTRIBUTES) or _plain(operator)
        called = page.module(name, page.draw.choice(modules).format(a=a, b=b))
        expression = f"{called}({page.x})"
    else:
        forms = (*operator.forms, *MORE.get(operator.word, ()))
        expression = page.draw.choice(forms).format(x=page.x, a=a, b=b)
    page.lines += kernel_lines(operator, expression, a, b)
    stays = operator.word in ("scaling", "division", "added number") and page.is_positive
    page.step(expression, operator.word, positive=operator.positive or stays)
    return operator.word


def _plain(operator: Operator) -> str:
    return "".join(c for c in operator.word.lower().split(" (")[0] if c.isalpha())


def _learned(page: Page) -> str:
    """A vector along the features, or one learned number."""
    expression, line, word, names = page.draw.choice(LEARNED)
    name = page.draw.choice(names)
    if page.draw.random() < 0.2 or not page.place:
        called = page.held(name, ["1"], page.draw.choice(("torch.randn({shape})",
                                                         "torch.rand({shape}) + 0.5")))  # fmt: skip
        read = f"tl.load({called.removeprefix('self.')})"
    else:
        called = page.along(name)
        mask = f", mask={page.live}" if page.live else ""
        read = f"tl.load({called.removeprefix('self.')} + {page.place}{mask})"
    page.given[called.removeprefix("self.")] = called
    page.lines.append(line.format(w=read))
    page.step(expression.format(x=page.x, w=called), word)
    return ""
