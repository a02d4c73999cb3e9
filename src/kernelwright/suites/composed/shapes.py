"""Shapes of first arguments: rows, sequences, images and volumes of the requested size."""

from __future__ import annotations

from kernelwright.suites.composed.task_builder import EDGE, FREE, TOKENS, Shape, TaskBuilder


def even(n: int) -> int:
    """Return ``n`` rounded down to one of eight steps between powers of two: 87381 becomes
    81920."""
    step = 1 << max(0, n.bit_length() - 4)
    return n // step * step


def rows(builder: TaskBuilder) -> Shape:
    """Return many rows of features."""
    draw, n_all = builder.draw, builder.draw.choice(builder.sizes.elements)
    n_columns = draw.choice([c for c in builder.sizes.columns if c * 4 <= n_all])
    first = draw.choice(("batch_size", "rows", "num_rows"))
    last = draw.choice(("features", "dim", "columns", "hidden_size"))
    n_rows = even(max(4, n_all // n_columns))
    return (builder.axis(first, n_rows, most=FREE), builder.axis(last, n_columns))


def sequence(builder: TaskBuilder) -> Shape:
    """Return batches of positions, each with features."""
    draw, n_all = builder.draw, builder.draw.choice(builder.sizes.elements)
    n_tokens = draw.choice([t for t in builder.sizes.tokens if t * 16 <= n_all])
    fits = [c for c in builder.sizes.columns if c * n_tokens <= n_all]
    n_columns = draw.choice(fits or [min(builder.sizes.columns)])
    batch = builder.axis("batch_size", even(max(2, n_all // (n_tokens * n_columns))), most=FREE)
    length = builder.axis(draw.choice(("seq_len", "length")), n_tokens, most=TOKENS)
    return (batch, length, builder.axis(draw.choice(("dim", "features", "d_model")), n_columns))


def image(builder: TaskBuilder, n_elements: int | None = None) -> Shape:
    """Return batches of images, channels second."""
    draw, n_all = builder.draw, n_elements or builder.draw.choice(builder.sizes.elements)
    n_channels = draw.choice(builder.sizes.channels)
    fits = [e for e in builder.sizes.edges if e * e * n_channels <= n_all]
    edge = draw.choice(fits or [min(builder.sizes.edges)])
    is_square = draw.random() < 0.75
    other = edge if is_square else draw.choice(fits or [edge])
    batch = builder.axis(
        "batch_size", even(max(2, n_all // (n_channels * edge * other))), most=FREE
    )
    channels = builder.axis(draw.choice(("channels", "in_channels")), n_channels)
    if is_square and draw.random() < 0.5:
        both = builder.axis(draw.choice(("size", "resolution")), edge, most=EDGE)
        return (batch, channels, both, both)
    return (
        batch,
        channels,
        builder.axis("height", edge, most=EDGE),
        builder.axis("width", other, most=EDGE),
    )


def edges(builder: TaskBuilder, **lengths: int) -> Shape:
    """Return spatial axes with these names and lengths."""
    return tuple(builder.axis(name, n, most=EDGE) for name, n in lengths.items())


def volume(builder: TaskBuilder, n_elements: int | None = None) -> Shape:
    """Return batches of volumes, channels second."""
    draw, n_all = builder.draw, n_elements or builder.draw.choice(builder.sizes.elements)
    n_channels = min(draw.choice(builder.sizes.channels), 64)
    fits = [e for e in builder.sizes.depths if e**3 * n_channels <= n_all]
    edge = draw.choice(fits or [min(builder.sizes.depths)])
    batch = builder.axis("batch_size", even(max(2, n_all // (n_channels * edge**3))), most=FREE)
    channels = builder.axis(draw.choice(("channels", "in_channels")), n_channels)
    depth = builder.axis("depth", edge, most=EDGE)
    return (
        batch,
        channels,
        depth,
        builder.axis("height", edge, most=EDGE),
        builder.axis("width", edge, most=EDGE),
    )


def signal(builder: TaskBuilder) -> Shape:
    """Return batches of signals in time, channels second."""
    draw, n_all = builder.draw, builder.draw.choice(builder.sizes.elements)
    n_channels = draw.choice(builder.sizes.channels)
    fits = [c for c in builder.sizes.columns if c * n_channels <= n_all]
    n_samples = draw.choice(fits or [min(builder.sizes.columns)])
    batch = builder.axis("batch_size", even(max(2, n_all // (n_channels * n_samples))), most=FREE)
    return (batch, builder.axis("channels", n_channels), builder.axis("length", n_samples))


def begin_any(builder: TaskBuilder) -> None:
    """Begin with any of these shapes, with its features on the axis where such tensors have
    them."""
    make, feature = builder.draw.choice(
        ((rows, -1), (rows, -1), (sequence, -1), (image, 1), (signal, 1))
    )
    builder.begin(make(builder), feature=feature)
