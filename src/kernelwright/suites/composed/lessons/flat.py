"""Forms over all elements, each on its own."""

from __future__ import annotations

from kernelwright.suites.composed.draft import Shape
from kernelwright.suites.composed.lessons import axes
from kernelwright.suites.composed.lessons.functions import LONG
from kernelwright.suites.composed.lessons.page import Page, block
from kernelwright.suites.composed.lessons.steps import operator_step, steps
from kernelwright.suites.composed.lessons.writing import answer, head

OTHERS = (
    ("{x} + {y}", "sum with an argument", "v = v + w"),
    ("torch.add({x}, {y})", "sum with an argument", "v = v + w"),
    ("{x} * {y}", "product with an argument", "v = v * w"),
    ("{x} - {y}", "difference from an argument", "v = v - w"),
    ("{x} * torch.sigmoid({y})", "gate", "v = v * tl.sigmoid(w)"),
    ("F.silu({y}) * {x}", "swish gate", "v = v * w * tl.sigmoid(w)"),
    ("torch.maximum({x}, {y})", "maximum with an argument", "v = tl.maximum(v, w)"),
    ("torch.minimum({x}, {y})", "minimum with an argument", "v = tl.minimum(v, w)"),
    ("torch.where({y} > 0, {x}, 0.1 * {x})", "choice by an argument",
     "v = tl.where(w > 0, v, 0.1 * v)"),
    ("{x} / (1.0 + {y}.abs())", "division by an argument", "v = v / (1.0 + tl.abs(w))"),
)  # fmt: skip
CHANNELS = (("channels", "num_features", "features", "C", "in_channels"), (4, 6, 8))
LINE = "v = tl.load(x + at, mask=inside)"
HEAD = ("at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "inside = at < n")


def pointwise(page: Page) -> str:
    """A chain of operators, learned vectors and a further argument."""
    draw = page.draw
    shape, feature = _shape(page)
    page.start(shape, feature=feature)
    n_others = 0
    if draw.random() < 0.3:
        operator_step(page, table=LONG)
    for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 4))):
        if draw.random() < 0.2 and not n_others:
            _other(page)
            n_others += 1
        else:
            steps(page, 1, 1)
    if not page.lines:
        _other(page)
    if any("% width" in line for line in page.lines):
        page.given["width"] = "x.shape[-1]"
    if any("% channels" in line for line in page.lines):
        page.given |= {"channels": "x.shape[1]", "inner": "x.stride(1)"}
    return _written(page)


def _shape(page: Page) -> tuple[Shape, int]:
    """Of two to four axes, and the one that learned vectors run along: the last, or the channels
    of an image."""
    kind = page.draw.choice("rrsi")
    if kind == "i":
        page.place = "at // inner % channels"
        return tuple(page.lengths(axes.BATCHES, CHANNELS, axes.EDGES, axes.WIDTHS)), 1
    page.place = "at % width"
    rest = (axes.WIDTHS,) if kind == "r" else (axes.LENGTHS, axes.WIDTHS)
    return tuple(page.lengths(axes.BATCHES, *rest)), -1


def _other(page: Page) -> None:
    """A further argument of the same shape."""
    expression, word, line = page.draw.choice(OTHERS)
    shape = page.shape
    name = page.input(page.draw.choice(("y", "other", "b", "residual", "z")), shape)
    page.step(expression.format(x=page.x, y=name), word)
    page.lines += [f"w = tl.load({name} + at, mask=inside)", line]


def _written(page: Page) -> str:
    others = [name for name in page.inputs if name != page.first]
    names = ["x", *others, *page.given]
    kernel = head(*names, "out", "n") + block(
        [*HEAD, LINE, *page.take(), "tl.store(out + at, v, mask=inside)"]
    )
    given = ", ".join(["x", *others, *page.given.values(), "out", "n"])
    lines = [f"x = {page.first}.contiguous()", *(f"{o} = {o}.contiguous()" for o in others)]
    lines += ["out = torch.empty_like(x)", "n = x.numel()"]
    each = page.schedule.block
    lines += [f"kernel[(triton.cdiv(n, {each}),)]({given}, {page.schedule.of(each)})", "return out"]
    return answer(page, kernel, "\n".join(lines))


SPREAD = (
    ("{a}.unsqueeze(1) {o} {b}", "a vector along the rows", "{a} + at // width", "rows"),
    ("{a}[:, None] {o} {b}", "a vector along the rows", "{a} + at // width", "rows"),
    ("{b} {o} {a}.unsqueeze(-1)", "a vector along the rows", "{a} + at // width", "rows"),
    ("{b} {o} {a}", "a vector along the columns", "{a} + at % width", "columns"),
    ("{a}.unsqueeze(0) {o} {b}", "a vector along the columns", "{a} + at % width", "columns"),
    ("torch.diag({a}) @ {b}", "a diagonal matrix from the left", "{a} + at // width", "rows"),
    ("{b} @ torch.diag({a})", "a diagonal matrix from the right", "{a} + at % width", "columns"),
    ("{b} * {a}.view(-1, 1)", "a vector along the rows", "{a} + at // width", "rows"),
)  # fmt: skip


def spread(page: Page) -> str:
    """A vector with a matrix: diagonal matrices, and what is broadcast."""
    draw = page.draw
    rows, columns = page.lengths((("N", "n", "rows", "batch_size"), (9, 16, 24)),
                                 (("M", "m", "columns", "dim"), (20, 32, 33)))  # fmt: skip
    a, b = draw.choice((("A", "B"), ("a", "b"), ("d", "x"), ("weights", "x"), ("scale", "x")))
    expression, word, read, along = draw.choice(SPREAD)
    vector, matrix = (rows,) if along == "rows" else (columns,), (rows, columns)
    for name, shape in draw.choice((((a, vector), (b, matrix)), ((b, matrix), (a, vector)))):
        page.input(name, shape, draw.choice(("torch.rand({shape})", "torch.randn({shape})")))
    page.x, page.shape, page.place = b, matrix, ""
    sign = draw.choice("*+-")
    is_first = expression.startswith("{a}")
    page.step(expression.format(a=a, b=b, o=sign), word)
    sign = "*" if "@" in expression or "view" in expression else sign
    steps(page, 0, 2)
    after = page.take()
    kernel = head("x", "d", "out", "n", "width", *page.given) + block([
        *HEAD, LINE, f"w = tl.load({read.format(a='d')}, mask=inside)",
        f"v = w {sign} v" if is_first else f"v = v {sign} w", *after,
        "tl.store(out + at, v, mask=inside)",
    ])  # fmt: skip
    each = page.schedule.block
    return answer(
        page,
        kernel,
        f"""x, d = {b}.contiguous(), {a}.contiguous()
out = torch.empty_like(x)
n = x.numel()
kernel[(triton.cdiv(n, {each}),)](x, d, out, n, x.shape[1]{page.more}, {page.schedule.of(each)})
return out""",
    )
