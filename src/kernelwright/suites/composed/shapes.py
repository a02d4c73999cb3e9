"""First arguments: rows, sequences, images and volumes of the size asked for."""

from __future__ import annotations

from kernelwright.suites.composed.draft import EDGE, FREE, TOKENS, Draft, Shape


def even(n: int) -> int:
    """``n`` rounded down to one of eight steps between powers of two: 87381 is 81920."""
    step = 1 << max(0, n.bit_length() - 4)
    return n // step * step


def rows(draft: Draft) -> Shape:
    """Many rows of features."""
    draw, n_all = draft.draw, draft.draw.choice(draft.sizes.elements)
    n_columns = draw.choice([c for c in draft.sizes.columns if c * 4 <= n_all])
    first = draw.choice(("batch_size", "rows", "num_rows"))
    last = draw.choice(("features", "dim", "columns", "hidden_size"))
    n_rows = even(max(4, n_all // n_columns))
    return (draft.axis(first, n_rows, most=FREE), draft.axis(last, n_columns))


def sequence(draft: Draft) -> Shape:
    """Batches of positions with features each."""
    draw, n_all = draft.draw, draft.draw.choice(draft.sizes.elements)
    n_tokens = draw.choice([t for t in draft.sizes.tokens if t * 16 <= n_all])
    fits = [c for c in draft.sizes.columns if c * n_tokens <= n_all]
    n_columns = draw.choice(fits or [min(draft.sizes.columns)])
    batch = draft.axis("batch_size", even(max(2, n_all // (n_tokens * n_columns))), most=FREE)
    length = draft.axis(draw.choice(("seq_len", "length")), n_tokens, most=TOKENS)
    return (batch, length, draft.axis(draw.choice(("dim", "features", "d_model")), n_columns))


def image(draft: Draft, n_elements: int | None = None) -> Shape:
    """Batches of images, channels second."""
    draw, n_all = draft.draw, n_elements or draft.draw.choice(draft.sizes.elements)
    n_channels = draw.choice(draft.sizes.channels)
    fits = [e for e in draft.sizes.edges if e * e * n_channels <= n_all]
    edge = draw.choice(fits or [min(draft.sizes.edges)])
    is_square = draw.random() < 0.75
    other = edge if is_square else draw.choice(fits or [edge])
    batch = draft.axis("batch_size", even(max(2, n_all // (n_channels * edge * other))), most=FREE)
    channels = draft.axis(draw.choice(("channels", "in_channels")), n_channels)
    if is_square and draw.random() < 0.5:
        both = draft.axis(draw.choice(("size", "resolution")), edge, most=EDGE)
        return (batch, channels, both, both)
    return (
        batch,
        channels,
        draft.axis("height", edge, most=EDGE),
        draft.axis("width", other, most=EDGE),
    )


def edges(draft: Draft, **lengths: int) -> Shape:
    """Positions in space, by name."""
    return tuple(draft.axis(name, n, most=EDGE) for name, n in lengths.items())


def volume(draft: Draft, n_elements: int | None = None) -> Shape:
    """Batches of volumes, channels second."""
    draw, n_all = draft.draw, n_elements or draft.draw.choice(draft.sizes.elements)
    n_channels = min(draw.choice(draft.sizes.channels), 64)
    fits = [e for e in draft.sizes.depths if e**3 * n_channels <= n_all]
    edge = draw.choice(fits or [min(draft.sizes.depths)])
    batch = draft.axis("batch_size", even(max(2, n_all // (n_channels * edge**3))), most=FREE)
    channels = draft.axis(draw.choice(("channels", "in_channels")), n_channels)
    depth = draft.axis("depth", edge, most=EDGE)
    return (
        batch,
        channels,
        depth,
        draft.axis("height", edge, most=EDGE),
        draft.axis("width", edge, most=EDGE),
    )


def signal(draft: Draft) -> Shape:
    """Batches of signals in time, channels second."""
    draw, n_all = draft.draw, draft.draw.choice(draft.sizes.elements)
    n_channels = draw.choice(draft.sizes.channels)
    fits = [c for c in draft.sizes.columns if c * n_channels <= n_all]
    n_samples = draw.choice(fits or [min(draft.sizes.columns)])
    batch = draft.axis("batch_size", even(max(2, n_all // (n_channels * n_samples))), most=FREE)
    return (batch, draft.axis("channels", n_channels), draft.axis("length", n_samples))


def begin_any(draft: Draft) -> None:
    """x is one of all these, its features where such tensors have them."""
    make, feature = draft.draw.choice(
        ((rows, -1), (rows, -1), (sequence, -1), (image, 1), (signal, 1))
    )
    draft.begin(make(draft), feature=feature)
