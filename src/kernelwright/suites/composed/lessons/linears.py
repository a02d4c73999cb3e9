"""A linear layer and what follows it in the product's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.suites.composed.draft import Axis
from kernelwright.suites.composed.lessons import products
from kernelwright.suites.composed.lessons.page import Page, block
from kernelwright.suites.composed.lessons.schedule import Schedule
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head

LAYERS = ("linear", "fc", "gemm", "matmul", "layer", "proj", "dense")
INPUTS = (("in_features", "input_size", "input_dim", "d_in", "in_dim"), (24, 33, 40, 64))
OUTPUTS = (("out_features", "hidden_size", "output_size", "d_out", "hidden_dim"), (16, 32, 48))
BATCHES = (("batch_size", "batch_size", "batch", "N"), (5, 16, 33))
BIAS = "v = v + tl.load(linear_bias + column % n)"
"""The layer's own, under a name that no learned vector has: many layers are followed by one."""


@dataclass
class Layer:
    """What the answer's forward says of the layer."""

    left: str
    right: str
    bias: str
    """Empty where it has none."""
    n: Axis
    is_turned: bool
    """Whether a row of the weight is of one result, as in a linear layer."""

    def loop(self, schedule: Schedule) -> list[str]:
        """The product's lines; both operands are contiguous."""
        place = "column % n * k + i" if self.is_turned else "i * n + column % n"
        turns = {"row % m * a_m + j * a_k": "row % m * k + j", "i * b_k + column % n * b_n": place}
        lines = "\n".join(products.loop(schedule))
        for old, new in turns.items():
            lines = lines.replace(old, new)
        return lines.split("\n")


def layer(page: Page, *, may_be_deep: bool = False) -> Layer:
    """x, and a linear layer on it: a module, or a weight that is held."""
    draw = page.draw
    rows, k, n = page.lengths(BATCHES, INPUTS, OUTPUTS, is_work=True)
    shape: tuple[Axis, ...] = (rows, k)
    if may_be_deep and draw.random() < 0.2:
        shape = (*page.lengths((("seq_len", "length"), (2, 3))), rows, k)
        shape = (shape[1], shape[0], k)
    called = draw.choice(("x", "x", "x", "x", "input", "inputs", "features_in"))
    name = page.start(shape, name=called,
                      how=draw.choice(("torch.rand({shape})", "torch.randn({shape})")))  # fmt: skip
    left = f"{name}.contiguous()" if len(shape) == 2 else f"{name}.reshape(-1, {name}.shape[-1])"
    inputs, outputs = page.argument(k), page.argument(n)
    kind = draw.random()
    if kind < 0.78:
        has_bias = draw.random() < 0.75
        told = _bias(page) if has_bias else ", bias=False"
        called = page.module(draw.choice(LAYERS), f"nn.Linear({inputs}, {outputs}{told})")
        page.step(f"{called}({page.x})", "linear")
        found = Layer(left, f"{called}.weight", f"{called}.bias" if has_bias else "", n, True)
    else:
        is_turned = draw.random() < 0.6
        sides = f"{outputs}, {inputs}" if is_turned else f"{inputs}, {outputs}"
        called = page.module("weight", f"nn.Parameter(torch.randn({sides}))")
        right = f"{called}.T" if is_turned else called
        forms = [f"torch.matmul({page.x}, {right})", f"{page.x} @ {right}"]
        forms += [f"F.linear({page.x}, {called})"] * is_turned
        page.step(draw.choice(forms), "product with a weight")
        found = Layer(left, called, "", n, is_turned)
    page.shape, page.feature = (*shape[:-1], n), -1
    page.place, page.live, page.is_positive = "column % n", "", False
    page.lines += [BIAS] if found.bias else []
    return found


def _bias(page: Page) -> str:
    """Now and then the constructor says that there is one, and nobody tells it otherwise."""
    if page.draw.random() > 0.1:
        return ""
    page.arguments.append("bias")
    page.defaults["bias"] = "True"
    page.untold.add("bias")
    return ", bias=bias"


def product(page: Page, found: Layer, epilogue: Sequence[str]) -> tuple[str, list[str]]:
    """The kernel of the layer and its steps, and the forward up to its call. Takes what is
    given."""
    names, values = list(page.given), list(page.given.values())
    page.given = {}
    if found.bias:
        names, values = ["linear_bias", *names], [found.bias, *values]
    operands = ["a", "b", *names, "out", "m", "n", "k"]
    sums = found.loop(page.schedule)
    text = head(*operands) + block([*products.HEAD, *sums, *epilogue, products.STORE])
    given = "".join(f"{value}, " for value in values)
    grid = products.grid(page.schedule)
    lines = [f"a, b = {found.left}, {found.right}", "m, k = a.shape",
             f"n = b.shape[{0 if found.is_turned else 1}]", "out = a.new_empty(m, n)",
             f"kernel[{grid}](a, b, {given}out, m, n, k, {page.schedule.of_tiles})"]  # fmt: skip
    return text, lines


def linear(page: Page) -> str:
    """A layer and pointwise steps, what was before them added again, a further argument."""
    draw = page.draw
    found = layer(page, may_be_deep=True)
    is_deep = len(page.shape) > 2
    n_steps = draw.choice((0, 1, 1, 2, 2, 3, 4))
    kind = draw.random()
    if n_steps and kind < 0.4:
        steps(page, 0, draw.choice((0, 0, 1)))
        how = draw.choice(("{x}", "{x}", "{x}.clone()", "{x}.clone().detach()"))
        kept = draw.choice(("original_x", "residual", "identity", "skip"))
        page.forward.append(f"{kept} = {how.format(x=page.x)}")
        page.words.append("kept")
        page.lines.append("first = v")
        steps(page, 1, n_steps)
        sign = draw.choice("++*-")
        page.step(f"{page.x} {sign} {kept}", "residual")
        page.lines.append(f"v = v {sign} first")
    else:
        steps(page, n_steps, n_steps)
        if kind > 0.85 and not is_deep:
            y = page.input(draw.choice(("y", "residual", "other")), page.shape)
            for sign in draw.choice(("+", "*", "-", "+*")):
                page.step(f"{page.x} {sign} {y}", "with an argument")
                read = f"tl.load(y + row * n + column, {products.LIVE}, other=0.0)"
                page.lines.append(f"v = v {sign} {read}")
            page.given["y"] = f"{y}.contiguous()"
            steps(page, 0, 1)
    text, lines = product(page, found, page.take())
    end = f"return out.reshape(*{page.first}.shape[:-1], n)" if is_deep else "return out"
    return answer(page, text, "\n".join([*lines, end]))
