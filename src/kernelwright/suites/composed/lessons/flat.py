"""Forms that process every element on its own."""

from __future__ import annotations

from kernelwright.suites.composed.lessons import axes
from kernelwright.suites.composed.lessons.functions import LONG
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import blocks_of
from kernelwright.suites.composed.lessons.steps import operator_step, steps
from kernelwright.suites.composed.lessons.writing import answer, head
from kernelwright.suites.composed.task_builder import Shape

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


def pointwise(builder: LessonBuilder) -> str:
    """Write a chain of operators, learned vectors and a further argument."""
    draw = builder.draw
    shape, feature = _shape(builder)
    builder.start(shape, feature=feature)
    n_others = 0
    if draw.random() < 0.3:
        operator_step(builder, table=LONG)
    for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 4))):
        if draw.random() < 0.2 and not n_others:
            _other(builder)
            n_others += 1
        else:
            steps(builder, 1, 1)
    if not builder.lines:
        _other(builder)
    if any("% width" in line for line in builder.lines):
        builder.given["width"] = "x.shape[-1]"
    if any("% channels" in line for line in builder.lines):
        builder.given |= {"channels": "x.shape[1]", "inner": "x.stride(1)"}
    return _written(builder)


def _shape(builder: LessonBuilder) -> tuple[Shape, int]:
    """Return two to four axes, and the one that learned vectors run along: the last, or the
    channels of an image."""
    kind = builder.draw.choice("rrsi")
    if kind == "i":
        builder.place = "at // inner % channels"
        return tuple(builder.lengths(axes.BATCHES, CHANNELS, axes.EDGES, axes.WIDTHS)), 1
    builder.place = "at % width"
    rest = (axes.WIDTHS,) if kind == "r" else (axes.LENGTHS, axes.WIDTHS)
    return tuple(builder.lengths(axes.BATCHES, *rest)), -1


def _other(builder: LessonBuilder) -> None:
    """Append an operator with a further argument of the same shape."""
    expression, word, line = builder.draw.choice(OTHERS)
    shape = builder.shape
    name = builder.input(builder.draw.choice(("y", "other", "b", "residual", "z")), shape)
    builder.step(expression.format(x=builder.x, y=name), word)
    builder.lines += [f"w = tl.load({name} + at, mask=inside)", line]


def _written(builder: LessonBuilder) -> str:
    others = [name for name in builder.inputs if name != builder.first]
    names = ["x", *others, *builder.given]
    kernel = head(*names, "out", "n") + block(
        [*HEAD, LINE, *builder.take(), "tl.store(out + at, v, mask=inside)"]
    )
    given = ", ".join(["x", *others, *builder.given.values(), "out", "n"])
    lines = [f"x = {builder.first}.contiguous()", *(f"{o} = {o}.contiguous()" for o in others)]
    lines += ["out = torch.empty_like(x)", "n = x.numel()"]
    lines += [
        f"kernel[(triton.cdiv(n, ELEMENTS),)]({given}, {blocks_of('ELEMENTS')})",
        "return out",
    ]
    return answer(builder, kernel, "\n".join(lines))


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


def spread(builder: LessonBuilder) -> str:
    """Write a vector combined with a matrix: diagonal matrices, and broadcasts."""
    draw = builder.draw
    rows, columns = builder.lengths(
        (("N", "n", "rows", "batch_size"), (9, 16, 24)),
        (("M", "m", "columns", "dim"), (20, 32, 33)),
    )
    a, b = draw.choice((("A", "B"), ("a", "b"), ("d", "x"), ("weights", "x"), ("scale", "x")))
    expression, word, read, along = draw.choice(SPREAD)
    vector, matrix = (rows,) if along == "rows" else (columns,), (rows, columns)
    for name, shape in draw.choice((((a, vector), (b, matrix)), ((b, matrix), (a, vector)))):
        builder.input(name, shape, draw.choice(("torch.rand({shape})", "torch.randn({shape})")))
    builder.x, builder.shape, builder.place = b, matrix, ""
    sign = draw.choice("*+-")
    is_first = expression.startswith("{a}")
    builder.step(expression.format(a=a, b=b, o=sign), word)
    sign = "*" if "@" in expression or "view" in expression else sign
    steps(builder, 0, 2)
    after = builder.take()
    kernel = head("x", "d", "out", "n", "width", *builder.given) + block(
        [
            *HEAD,
            LINE,
            f"w = tl.load({read.format(a='d')}, mask=inside)",
            f"v = w {sign} v" if is_first else f"v = v {sign} w",
            *after,
            "tl.store(out + at, v, mask=inside)",
        ]
    )
    return answer(
        builder,
        kernel,
        f"""x, d = {b}.contiguous(), {a}.contiguous()
out = torch.empty_like(x)
n = x.numel()
kernel[(triton.cdiv(n, ELEMENTS),)](x, d, out, n, x.shape[1]{builder.more}, {blocks_of("ELEMENTS")})
return out""",
    )
