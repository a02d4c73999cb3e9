"""Two linear layers with steps between: one kernel, launched for each layer in turn."""

from __future__ import annotations

from kernelwright.suites.composed.lessons import products
from kernelwright.suites.composed.lessons.features import ROW, fold
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.linears import BATCHES, BIAS, INPUTS, OUTPUTS, Layer
from kernelwright.suites.composed.lessons.schedule import OF_TILES, TILES, whole_row
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head

BETWEEN = (("hidden_size", "hidden_dim", "hidden_features", "d_hidden"), (16, 32, 40))
PAIRS = (("linear1", "linear2"), ("fc1", "fc2"), ("gemm1", "gemm2"), ("up", "down"),
         ("first", "second"))  # fmt: skip


def two(builder: LessonBuilder) -> str:
    """Write a layer, steps, another layer, and steps or one value for each row."""
    draw = builder.draw
    axes = (BATCHES, INPUTS, BETWEEN, (("output_size", "out_features", "d_out"), OUTPUTS[1]))
    rows, k, hidden, n = builder.lengths(*axes, is_work=True)
    builder.start((rows, k), name=draw.choice(("x", "x", "x", "input")), how="torch.randn({shape})")
    widths = [builder.argument(axis) for axis in (k, hidden, n)]
    ends = draw.choice(("", "", ", bias=False"))
    names = [
        builder.module(name, f"nn.Linear({a}, {b}{ends})")
        for name, a, b in zip(draw.choice(PAIRS), widths, widths[1:], strict=False)
    ]
    inner = []
    for called, axis in zip(names, (hidden, n), strict=True):
        builder.step(f"{called}({builder.x})", "linear")
        builder.shape, builder.feature, builder.is_positive = (rows, axis), -1, False
        builder.place, builder.live = "", ""
        is_first = called == names[0]
        steps(
            builder, int(is_first), draw.choice((1, 1, 2) if is_first else (0, 0, 1)), learned=False
        )
        inner.append(builder.take())
    text, lines = _launched(builder, names, inner, has_bias=not ends)
    if draw.random() < 0.6:
        return answer(builder, text, "\n".join([*lines, "return a"]))
    body, shape = fold(builder, is_kept=draw.random() < 0.5)
    text += "\n\n" + head("x", "out", "n", *builder.given, name="rows")
    text += block([*ROW, *body, "tl.store(out + row, v)"])
    lines += [
        f"result = a.new_empty({shape})",
        f"rows[(m,)](a, result, n{builder.more}, {whole_row('n')})",
        "return result",
    ]
    return answer(builder, text, "\n".join(lines))


def _launched(
    builder: LessonBuilder, names: list[str], inner: list[list[str]], *, has_bias: bool
) -> tuple[str, list[str]]:
    """Return the kernel of both layers, with an argument that says which steps follow the product,
    and the forward's loop. The builder's further arguments are used up."""
    given, builder.given = builder.given, {}
    bias = ["linear_bias"] * has_bias
    operands = ["a", "b", *bias, *given, "out", "m", "n", "k", "IS_FIRST: tl.constexpr"]
    first, second = ([f"    {line}" for line in lines] for lines in inner)
    after = ["if IS_FIRST:", *first, *(["else:", *second] if second else [])]
    sums = Layer("", "", "", builder.shape[-1], True).loop()
    text = head(*operands, *TILES) + block(
        [*products.HEAD, *sums, *[BIAS] * has_bias, *after, products.STORE]
    )
    values = "".join(f"{value}, " for value in ["layer.bias"] * has_bias + list(given.values()))
    lines = [
        f"a = {builder.first}.contiguous()",
        f"for layer in ({', '.join(names)}):",
        "    m, k = a.shape",
        "    n = layer.weight.shape[0]",
        "    out = a.new_empty(m, n)",
        f"    kernel[{products.grid()}](a, layer.weight, {values}out, m, n, k, "
        f"layer is {names[0]}, {OF_TILES})",
        "    a = out",
    ]
    return text, lines
