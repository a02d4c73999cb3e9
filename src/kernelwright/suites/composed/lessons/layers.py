"""Two linear layers with steps between: one kernel, launched for each layer in turn."""

from __future__ import annotations

from kernelwright.suites.composed.lessons import products
from kernelwright.suites.composed.lessons.features import ROW, fold
from kernelwright.suites.composed.lessons.linears import BATCHES, BIAS, INPUTS, OUTPUTS, Layer
from kernelwright.suites.composed.lessons.page import Page, block
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head

BETWEEN = (("hidden_size", "hidden_dim", "hidden_features", "d_hidden"), (16, 32, 40))
PAIRS = (("linear1", "linear2"), ("fc1", "fc2"), ("gemm1", "gemm2"), ("up", "down"),
         ("first", "second"))  # fmt: skip


def two(page: Page) -> str:
    """A layer, steps, another layer, and steps or one value for each row."""
    draw = page.draw
    axes = (BATCHES, INPUTS, BETWEEN, (("output_size", "out_features", "d_out"), OUTPUTS[1]))
    rows, k, hidden, n = page.lengths(*axes, is_work=True)
    page.start((rows, k), name=draw.choice(("x", "x", "x", "input")), how="torch.randn({shape})")
    told = [page.argument(axis) for axis in (k, hidden, n)]
    ends = draw.choice(("", "", ", bias=False"))
    names = [
        page.module(name, f"nn.Linear({a}, {b}{ends})")
        for name, a, b in zip(draw.choice(PAIRS), told, told[1:], strict=False)
    ]
    inner = []
    for called, axis in zip(names, (hidden, n), strict=True):
        page.step(f"{called}({page.x})", "linear")
        page.shape, page.feature, page.is_positive = (rows, axis), -1, False
        page.place, page.live = "", ""
        is_first = called == names[0]
        steps(page, int(is_first), draw.choice((1, 1, 2) if is_first else (0, 0, 1)), learned=False)
        inner.append(page.take())
    text, lines = _launched(page, names, inner, has_bias=not ends)
    if draw.random() < 0.6:
        return answer(page, text, "\n".join([*lines, "return a"]))
    body, shape = fold(page, is_kept=draw.random() < 0.5)
    text += "\n\n" + head("x", "out", "n", *page.given, name="rows")
    text += block([*ROW, *body, "tl.store(out + row, v)"])
    lines += [f"result = a.new_empty({shape})",
              f"rows[(m,)](a, result, n{page.more}, {page.schedule.row('n')})",
              "return result"]  # fmt: skip
    return answer(page, text, "\n".join(lines))


def _launched(
    page: Page, names: list[str], inner: list[list[str]], *, has_bias: bool
) -> tuple[str, list[str]]:
    """The kernel of both layers, which is told what comes after the product, and the forward's
    loop. Takes what is given."""
    given, page.given = page.given, {}
    bias = ["linear_bias"] * has_bias
    operands = ["a", "b", *bias, *given, "out", "m", "n", "k", "IS_FIRST: tl.constexpr"]
    first, second = ([f"    {line}" for line in lines] for lines in inner)
    after = ["if IS_FIRST:", *first, *(["else:", *second] if second else [])]
    sums = Layer("", "", "", page.shape[-1], True).loop(page.schedule)
    text = head(*operands) + block(
        [*products.HEAD, *sums, *[BIAS] * has_bias, *after, products.STORE]
    )
    values = "".join(f"{value}, " for value in ["layer.bias"] * has_bias + list(given.values()))
    lines = [
        f"a = {page.first}.contiguous()", f"for layer in ({', '.join(names)}):",
        "    m, k = a.shape", "    n = layer.weight.shape[0]", "    out = a.new_empty(m, n)",
        f"    kernel[{products.grid(page.schedule)}](a, layer.weight, {values}out, m, n, k, "
        f"layer is {names[0]}, {page.schedule.of_tiles})", "    a = out",
    ]  # fmt: skip
    return text, lines
