"""Families of matrix products and convolutions with their epilogues."""

from __future__ import annotations

import math

from kernelwright.suites.composed import rowwise, shapes
from kernelwright.suites.composed.chain import activation, chain
from kernelwright.suites.composed.elementwise import fold
from kernelwright.suites.composed.task_builder import FREE, Axis, TaskBuilder


def gemm(builder: TaskBuilder) -> None:
    """Write a product of matrices and its epilogue."""
    draw, sizes = builder.draw, builder.sizes
    style = draw.choice(("linear", "linear", "linear", "matmul", "batched", "transposed"))
    n_in, n_out = draw.choice(sizes.features), draw.choice(sizes.features)
    n_rows = _rows_within(builder, n_in * n_out)
    if style == "linear":
        batch = builder.axis(draw.choice(("batch_size", "tokens")), n_rows, most=FREE)
        given, made = builder.axis("in_features", n_in), builder.axis("out_features", n_out)
        builder.begin((batch, given))
        linear(builder, made)
    elif style == "batched":
        n_batches = draw.choice((4, 8, 16))
        batch = builder.axis("batch_size", n_batches, most=FREE)
        m = builder.axis("m", max(8, n_rows // n_batches), most=FREE)
        k, n = builder.axis("k", n_in), builder.axis("n", n_out)
        builder.begin((batch, m, k))
        other = builder.input("b", (batch, k, n))
        builder.step(f"torch.bmm(x, {other}) * {_tamed(n_in)}", "batched product, scaled")
        builder.shape = (batch, m, n)
    else:
        m, k, n = (
            builder.axis("M", n_rows, most=FREE),
            builder.axis("K", n_in),
            builder.axis("N", n_out),
        )
        builder.begin((m, k))
        other = builder.input("b", (n, k) if style == "transposed" else (k, n))
        written = f"torch.matmul(x, {other}.t())" if style == "transposed" else f"x @ {other}"
        builder.step(f"{written} * {_tamed(n_in)}", "product of matrices, scaled")
        builder.shape = (m, n)
    builder.is_positive = False
    epilogue(builder)


def _rows_within(builder: TaskBuilder, per_row: int) -> int:
    """Return rows of a product whose work stays within the size's bound."""
    fits = [r for r in builder.sizes.tokens if r * per_row <= builder.sizes.work]
    return builder.draw.choice(fits or [min(builder.sizes.tokens)])


def _tamed(k: int) -> str:
    """Return the factor that keeps a sum of ``k`` products of unit variance near 1."""
    return repr(round(1 / math.sqrt(k), 4))


def linear(builder: TaskBuilder, out: Axis) -> None:
    """Set x to a learned linear map of x."""
    given, made = builder.argument(builder.shape[-1]), builder.argument(out)
    bias = ", bias=False" if builder.draw.random() < 0.2 else ""
    builder.step(
        f"{builder.module('linear', f'nn.Linear({given}, {made}{bias})')}(x)", "linear map"
    )
    builder.shape, builder.feature = (*builder.shape[:-1], out), -1


def epilogue(builder: TaskBuilder) -> None:
    """Write the steps after a product of matrices."""
    draw = builder.draw
    kind = draw.choice(("chain", "chain", "norm", "fold", "softmax", "residual"))
    if kind == "residual":
        kept = builder.keep("identity")
        chain(builder, draw.randint(1, 3), others=0)
        builder.step(f"x + {kept}", "residual")
        return
    chain(builder, draw.randint(1, 3) if kind == "chain" else draw.randint(0, 2))
    if kind == "norm":
        draw.choice((rowwise.layer_norm, rowwise.rms_norm, rowwise.standardise))(builder)
        activation(builder)
    elif kind == "fold":
        fold(builder, (-1,))
        chain(builder, draw.randint(0, 1), learned=False, others=0)
    elif kind == "softmax":
        builder.step(f"x * {draw.choice(('2.0', '0.5'))}", "temperature")
        builder.step("torch.softmax(x, dim=-1)", "softmax", positive=True)


def conv(builder: TaskBuilder) -> None:
    """Write a convolution and its epilogue."""
    draw = builder.draw
    rank = draw.choice((2, 2, 2, 2, 1, 3))
    style = draw.choice(("plain", "plain", "plain", "depthwise", "pointwise", "transposed"))
    n_out, k = draw.choice(builder.sizes.channels), draw.choice((3, 3, 5, 7)[: 5 - rank])
    n_all = min(draw.choice(builder.sizes.elements), builder.sizes.work // (n_out * k**rank))
    if rank == 1:
        builder.begin(shapes.signal(builder), feature=1)
    else:
        builder.begin((shapes.image if rank == 2 else shapes.volume)(builder, n_all), feature=1)
    convolution(builder, n_out, k, style)
    conv_epilogue(builder)


def convolution(builder: TaskBuilder, n_out: int, k: int, style: str = "plain") -> None:
    """Set x to a learned convolution of x; spatial axes keep their names if their lengths stay."""
    draw, given = builder.draw, builder.shape[1]
    rank = len(builder.shape) - 2
    if style == "depthwise":
        builder.argument(given)
        out, groups = given, f", groups={given.text}"
    else:
        out, groups = builder.axis("out_channels", n_out), ""
    size = 1 if style == "pointwise" else k
    kernel = builder.axis("kernel_size", size)
    padding = draw.choice((0, size // 2)) if style != "transposed" else 0
    stride = draw.choice((1, 1, 1, 2)) if size > 1 else 1
    words = [builder.argument(given), builder.argument(out), builder.argument(kernel)]
    text = ", ".join(words) + (f", stride={stride}" if stride > 1 else "")
    text += (f", padding={padding}" if padding else "") + groups
    kind = f"nn.ConvTranspose{rank}d" if style == "transposed" else f"nn.Conv{rank}d"
    word = {"plain": "convolution"}.get(style, f"{style} convolution")
    builder.step(f"{builder.module('conv', f'{kind}({text})')}(x)", word)
    stays = stride == 1 and 2 * padding == size - 1 and style != "transposed"
    places = builder.shape[2:]
    if not stays:
        places = tuple(
            Axis("", (a.n - 1) * stride + size)
            if style == "transposed"
            else Axis("", (a.n + 2 * padding - size) // stride + 1)
            for a in places
        )
    builder.shape = (builder.shape[0], out, *places)


def conv_epilogue(builder: TaskBuilder) -> None:
    """Write the steps after a convolution."""
    draw, rank = builder.draw, len(builder.shape) - 2
    kind = draw.choice(("chain", "chain", "norm", "fold", "pool", "over channels"))
    chain(builder, draw.randint(1, 4) if kind == "chain" else draw.randint(0, 2))
    if kind == "norm":
        fits = [rowwise.group_norm, rowwise.batch_norm]
        draw.choice(fits if rank < 2 else [*fits, rowwise.instance_norm])(builder)
        activation(builder)
    elif kind == "fold":
        fold(builder, tuple(range(2, rank + 2)))
        chain(builder, draw.randint(0, 2), learned=False, others=0)
    elif kind == "pool":
        pool(builder)
        chain(builder, draw.randint(0, 2), others=0)
    elif kind == "over channels":
        fold(builder, (1,), keep=True)
        chain(builder, draw.randint(0, 2), learned=False, others=0)


def pool(builder: TaskBuilder) -> None:
    """Pool x over its positions."""
    draw, rank = builder.draw, len(builder.shape) - 2
    kind = draw.choice(("max_pool", "max_pool", "avg_pool", "avg_pool", "adaptive"))
    shape = builder.shape
    if kind == "adaptive":
        how, word = draw.choice((("avg", "mean"), ("max", "maximum")))
        builder.step(f"F.adaptive_{how}_pool{rank}d(x, 1)", f"{word} over all positions")
        builder.shape = (*shape[:2], *(Axis("1", 1) for _ in range(rank)))
        return
    size = draw.choice((2, 2, 3))
    stride = draw.choice((size, size, max(1, size - 1)))
    padding = 1 if size == 3 and stride == 2 else 0
    word = "max pooling" if kind == "max_pool" else "average pooling"
    options = (f", stride={stride}" if stride != size else "") + (
        f", padding={padding}" if padding else ""
    )
    if draw.random() < 0.5:
        name = "MaxPool" if kind == "max_pool" else "AvgPool"
        builder.step(
            f"{builder.module('pool', f'nn.{name}{rank}d({size}{options})')}(x)",
            word,
            positive=builder.is_positive,
        )
    else:
        builder.step(f"F.{kind}{rank}d(x, {size}{options})", word, positive=builder.is_positive)
    builder.shape = (
        *shape[:2],
        *(Axis("", (a.n + 2 * padding - size) // stride + 1) for a in shape[2:]),
    )


def pooling(builder: TaskBuilder) -> None:
    """Write a pooling with pointwise steps around it."""
    draw = builder.draw
    builder.begin(
        draw.choice((shapes.image, shapes.image, shapes.signal, shapes.volume))(builder), feature=1
    )
    chain(builder, draw.randint(0, 2))
    pool(builder)
    chain(builder, draw.randint(1, 3), others=0)
