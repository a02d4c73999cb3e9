"""Families of matrix products and convolutions with what follows them."""

from __future__ import annotations

import math

from kernelwright.suites.composed import rowwise, shapes
from kernelwright.suites.composed.chain import activation, chain
from kernelwright.suites.composed.draft import FREE, Axis, Draft
from kernelwright.suites.composed.elementwise import fold


def gemm(draft: Draft) -> None:
    """A product of matrices and its epilogue."""
    draw, sizes = draft.draw, draft.sizes
    style = draw.choice(("linear", "linear", "linear", "matmul", "batched", "transposed"))
    n_in, n_out = draw.choice(sizes.features), draw.choice(sizes.features)
    n_rows = _rows_within(draft, n_in * n_out)
    if style == "linear":
        batch = draft.axis(draw.choice(("batch_size", "tokens")), n_rows, most=FREE)
        given, made = draft.axis("in_features", n_in), draft.axis("out_features", n_out)
        draft.begin((batch, given))
        linear(draft, made)
    elif style == "batched":
        n_batches = draw.choice((4, 8, 16))
        batch = draft.axis("batch_size", n_batches, most=FREE)
        m = draft.axis("m", max(8, n_rows // n_batches), most=FREE)
        k, n = draft.axis("k", n_in), draft.axis("n", n_out)
        draft.begin((batch, m, k))
        other = draft.input("b", (batch, k, n))
        draft.step(f"torch.bmm(x, {other}) * {_tamed(n_in)}", "batched product, scaled")
        draft.shape = (batch, m, n)
    else:
        m, k, n = (draft.axis("M", n_rows, most=FREE), draft.axis("K", n_in),
                   draft.axis("N", n_out))  # fmt: skip
        draft.begin((m, k))
        other = draft.input("b", (n, k) if style == "transposed" else (k, n))
        written = f"torch.matmul(x, {other}.t())" if style == "transposed" else f"x @ {other}"
        draft.step(f"{written} * {_tamed(n_in)}", "product of matrices, scaled")
        draft.shape = (m, n)
    draft.is_positive = False
    epilogue(draft)


def _rows_within(draft: Draft, per_row: int) -> int:
    """Rows of a product whose work stays within the bounds of the size."""
    fits = [r for r in draft.sizes.tokens if r * per_row <= draft.sizes.work]
    return draft.draw.choice(fits or [min(draft.sizes.tokens)])


def _tamed(k: int) -> str:
    """The factor that keeps a sum of ``k`` products of unit variance near 1."""
    return repr(round(1 / math.sqrt(k), 4))


def linear(draft: Draft, out: Axis) -> None:
    """Let x be a learned linear map of x."""
    given, made = draft.argument(draft.shape[-1]), draft.argument(out)
    bias = ", bias=False" if draft.draw.random() < 0.2 else ""
    draft.step(f"{draft.module('linear', f'nn.Linear({given}, {made}{bias})')}(x)", "linear map")
    draft.shape, draft.feature = (*draft.shape[:-1], out), -1


def epilogue(draft: Draft) -> None:
    """What follows a product of matrices."""
    draw = draft.draw
    kind = draw.choice(("chain", "chain", "norm", "fold", "softmax", "residual"))
    if kind == "residual":
        kept = draft.keep("identity")
        chain(draft, draw.randint(1, 3), others=0)
        draft.step(f"x + {kept}", "residual")
        return
    chain(draft, draw.randint(1, 3) if kind == "chain" else draw.randint(0, 2))
    if kind == "norm":
        draw.choice((rowwise.layer_norm, rowwise.rms_norm, rowwise.standardise))(draft)
        activation(draft)
    elif kind == "fold":
        fold(draft, (-1,))
        chain(draft, draw.randint(0, 1), learned=False, others=0)
    elif kind == "softmax":
        draft.step(f"x * {draw.choice(('2.0', '0.5'))}", "temperature")
        draft.step("torch.softmax(x, dim=-1)", "softmax", positive=True)


def conv(draft: Draft) -> None:
    """A convolution and its epilogue."""
    draw = draft.draw
    rank = draw.choice((2, 2, 2, 2, 1, 3))
    style = draw.choice(("plain", "plain", "plain", "depthwise", "pointwise", "transposed"))
    n_out, k = draw.choice(draft.sizes.channels), draw.choice((3, 3, 5, 7)[: 5 - rank])
    n_all = min(draw.choice(draft.sizes.elements), draft.sizes.work // (n_out * k**rank))
    if rank == 1:
        draft.begin(shapes.signal(draft), feature=1)
    else:
        draft.begin((shapes.image if rank == 2 else shapes.volume)(draft, n_all), feature=1)
    convolution(draft, n_out, k, style)
    conv_epilogue(draft)


def convolution(draft: Draft, n_out: int, k: int, style: str = "plain") -> None:
    """Let x be a learned convolution of x: positions keep their names where their number stays."""
    draw, given = draft.draw, draft.shape[1]
    rank = len(draft.shape) - 2
    if style == "depthwise":
        draft.argument(given)
        out, groups = given, f", groups={given.text}"
    else:
        out, groups = draft.axis("out_channels", n_out), ""
    size = 1 if style == "pointwise" else k
    kernel = draft.axis("kernel_size", size)
    padding = draw.choice((0, size // 2)) if style != "transposed" else 0
    stride = draw.choice((1, 1, 1, 2)) if size > 1 else 1
    words = [draft.argument(given), draft.argument(out), draft.argument(kernel)]
    text = ", ".join(words) + (f", stride={stride}" if stride > 1 else "")
    text += (f", padding={padding}" if padding else "") + groups
    kind = f"nn.ConvTranspose{rank}d" if style == "transposed" else f"nn.Conv{rank}d"
    word = {"plain": "convolution"}.get(style, f"{style} convolution")
    draft.step(f"{draft.module('conv', f'{kind}({text})')}(x)", word)
    stays = stride == 1 and 2 * padding == size - 1 and style != "transposed"
    places = draft.shape[2:]
    if not stays:
        places = tuple(
            Axis("", (a.n - 1) * stride + size) if style == "transposed"
            else Axis("", (a.n + 2 * padding - size) // stride + 1)
            for a in places
        )  # fmt: skip
    draft.shape = (draft.shape[0], out, *places)


def conv_epilogue(draft: Draft) -> None:
    """What follows a convolution."""
    draw, rank = draft.draw, len(draft.shape) - 2
    kind = draw.choice(("chain", "chain", "norm", "fold", "pool", "over channels"))
    chain(draft, draw.randint(1, 4) if kind == "chain" else draw.randint(0, 2))
    if kind == "norm":
        fits = [rowwise.group_norm, rowwise.batch_norm]
        draw.choice(fits if rank < 2 else [*fits, rowwise.instance_norm])(draft)
        activation(draft)
    elif kind == "fold":
        fold(draft, tuple(range(2, rank + 2)))
        chain(draft, draw.randint(0, 2), learned=False, others=0)
    elif kind == "pool":
        pool(draft)
        chain(draft, draw.randint(0, 2), others=0)
    elif kind == "over channels":
        fold(draft, (1,), keep=True)
        chain(draft, draw.randint(0, 2), learned=False, others=0)


def pool(draft: Draft) -> None:
    """Let x be pooled over its positions."""
    draw, rank = draft.draw, len(draft.shape) - 2
    kind = draw.choice(("max_pool", "max_pool", "avg_pool", "avg_pool", "adaptive"))
    shape = draft.shape
    if kind == "adaptive":
        how, word = draw.choice((("avg", "mean"), ("max", "maximum")))
        draft.step(f"F.adaptive_{how}_pool{rank}d(x, 1)", f"{word} over all positions")
        draft.shape = (*shape[:2], *(Axis("1", 1) for _ in range(rank)))
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
        draft.step(f"{draft.module('pool', f'nn.{name}{rank}d({size}{options})')}(x)", word,
                   positive=draft.is_positive)  # fmt: skip
    else:
        draft.step(f"F.{kind}{rank}d(x, {size}{options})", word, positive=draft.is_positive)
    draft.shape = (
        *shape[:2],
        *(Axis("", (a.n + 2 * padding - size) // stride + 1) for a in shape[2:]),
    )


def pooling(draft: Draft) -> None:
    """A pooling with pointwise steps around it."""
    draw = draft.draw
    draft.begin(draw.choice((shapes.image, shapes.image, shapes.signal, shapes.volume))(draft),
                feature=1)  # fmt: skip
    chain(draft, draw.randint(0, 2))
    pool(draft)
    chain(draft, draw.randint(1, 3), others=0)
