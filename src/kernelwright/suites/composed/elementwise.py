"""Families without products: pointwise chains, reductions, scans."""

from __future__ import annotations

from kernelwright.suites.composed import shapes
from kernelwright.suites.composed.chain import chain
from kernelwright.suites.composed.task_builder import TaskBuilder


def pointwise(builder: TaskBuilder) -> None:
    """Write a task of two to seven pointwise steps."""
    shapes.begin_any(builder)
    residual = builder.draw.random() < 0.2
    kept = builder.keep("residual") if residual else ""
    chain(builder, builder.draw.randint(2, 6), others=2)
    if residual:
        builder.step(f"x + {kept}", "residual")


_FOLDS = (
    ("torch.sum(x, dim={dim}{keep})", "sum"),
    ("x.sum(dim={dim}{keep})", "sum"),
    ("torch.mean(x, dim={dim}{keep})", "mean"),
    ("x.mean(dim={dim}{keep})", "mean"),
    ("torch.amax(x, dim={dim}{keep})", "maximum"),
    ("torch.amin(x, dim={dim}{keep})", "minimum"),
    ("torch.var(x, dim={dim}{keep})", "variance"),
    ("torch.std(x, dim={dim}{keep})", "standard deviation"),
    ("torch.logsumexp(x, dim={dim}{keep})", "logarithm of the sum of exponentials"),
    ("torch.linalg.vector_norm(x, dim={dim}{keep})", "norm"),
    ("x.abs().sum(dim={dim}{keep})", "sum of absolute values"),
    ("x.pow(2).mean(dim={dim}{keep})", "mean square"),
)


def fold(
    builder: TaskBuilder, dims: tuple[int, ...] | None = None, *, keep: bool | None = None
) -> None:
    """Reduce x over one axis, or over the axes of an image other than its channels."""
    draw = builder.draw
    rank = len(builder.shape)
    if dims is None:
        choices = [(-1,)] * 4 + [(1,)] * 2 + ([(2, 3)] * 4 if rank == 4 else [])
        dims = draw.choice(choices)
    keep = draw.random() < 0.4 if keep is None else keep
    expression, word = draw.choice(_FOLDS)
    dim = str(dims[0]) if len(dims) == 1 else str(tuple(dims))
    is_positive = builder.is_positive or word in ("variance", "norm", "mean square", "sum of absol")
    builder.step(
        expression.format(dim=dim, keep=", keepdim=True" if keep else ""),
        word,
        positive=is_positive and word not in ("logarithm of the sum of exponentials",),
    )
    builder.drop(dims, keep=keep)


def reduction(builder: TaskBuilder) -> None:
    """Write a task with some pointwise steps, one reduction, and steps on its result."""
    shapes.begin_any(builder)
    chain(builder, builder.draw.randint(0, 3))
    after = builder.draw.random()
    if after < 0.3:
        kept = builder.keep("full")
        full, feature = builder.shape, builder.feature
        fold(builder, keep=True)
        how, word = builder.draw.choice(
            (
                ("{full} - x", "distance from it"),
                ("{full} / (x.abs() + 1.0)", "division by it"),
                ("{full} * torch.sigmoid(x)", "gate by it"),
            )
        )
        builder.step(how.format(full=kept), word)
        builder.shape, builder.feature = full, feature
        return
    if after < 0.4:
        which = builder.draw.choice(("argmax", "argmin"))
        builder.step(f"torch.{which}(x, dim=-1)", "position of the " + which[3:] + "imum")
        builder.drop((-1,), keep=False)
        return
    fold(builder)
    chain(builder, builder.draw.randint(0, 2), learned=False, others=0)


_SCANS = (
    ("torch.cumsum(x, dim={dim})", "running sum"),
    ("torch.cumsum(x, dim={dim}) * 0.1", "running sum, scaled"),
    (
        "torch.flip(torch.cumsum(torch.flip(x, [{dim}]), dim={dim}), [{dim}])",
        "running sum from the end",
    ),
    ("torch.cumsum(x, dim={dim}) - x", "running sum of what came before"),
    ("torch.cumprod(1.0 + 0.01 * torch.tanh(x), dim={dim})", "running product"),
    ("torch.logcumsumexp(x, dim={dim})", "running logarithm of the sum of exponentials"),
    ("torch.cummax(x, dim={dim})[0]", "running maximum"),
    ("torch.cumsum(x * {mask}, dim={dim})", "running sum under a mask"),
    ("torch.cumsum(x, dim={dim}) / {count}", "running mean"),
)


def scan(builder: TaskBuilder) -> None:
    """Write a task with a running sum, product or maximum, and pointwise steps around it."""
    draw = builder.draw
    make = draw.choice((shapes.rows, shapes.sequence))
    builder.begin(make(builder))
    chain(builder, draw.randint(0, 2), others=0)
    expression, word = draw.choice(_SCANS)
    dim = draw.choice((-1, 1))
    if "{mask}" in expression:
        builder.input("mask", builder.shape, "torch.randint(0, 2, ({shape})).bool()")
    if "{count}" in expression:
        dim = 1
        count = f"torch.arange(1, x.shape[{dim}] + 1, device=x.device)"
        expression = expression.replace(
            "{count}", count + ("[:, None]" if make is shapes.sequence else "")
        )
    builder.step(expression.format(dim=dim, mask="mask"), word)
    chain(builder, draw.randint(0, 2), others=1)
