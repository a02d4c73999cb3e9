"""Small networks: several products or convolutions with steps between them."""

from __future__ import annotations

from kernelwright.suites.composed import rowwise, shapes
from kernelwright.suites.composed.chain import activation
from kernelwright.suites.composed.elementwise import fold
from kernelwright.suites.composed.products import convolution, linear, pool
from kernelwright.suites.composed.task_builder import FREE, TOKENS, TaskBuilder


def network(builder: TaskBuilder) -> None:
    """Write one of the blocks below."""
    builder.draw.choice(
        (mlp, gated_mlp, attention, residual_conv, small_cnn, squeeze, recurrence, embedding)
    )(builder)


def _tokens(builder: TaskBuilder, n_products: int, *, width: int | None = None) -> None:
    """Begin with positions that have features, so that ``n_products`` products of them stay within
    the size's work."""
    draw, sizes = builder.draw, builder.sizes
    n = width or draw.choice(sizes.features)
    fits = [t for t in sizes.tokens if t * n * n * n_products <= sizes.work]
    n_tokens = draw.choice(fits or [min(sizes.tokens)])
    batch = builder.axis(draw.choice(("batch_size", "tokens")), n_tokens, most=FREE)
    builder.begin((batch, builder.axis(draw.choice(("dim", "in_features", "hidden_size")), n)))


def mlp(builder: TaskBuilder) -> None:
    """Write two or three linear maps with activations between them."""
    draw = builder.draw
    n_layers = draw.choice((2, 2, 3))
    _tokens(builder, n_layers)
    if draw.random() < 0.3:
        rowwise.layer_norm(builder)
    for _ in range(n_layers - 1):
        linear(builder, builder.axis("hidden", draw.choice(builder.sizes.features)))
        activation(builder)
    linear(builder, builder.axis("out_features", draw.choice(builder.sizes.features)))
    if draw.random() < 0.3:
        builder.step("F.log_softmax(x, dim=-1)", "log-softmax")


def gated_mlp(builder: TaskBuilder) -> None:
    """Write two maps side by side, one the gate of the other, then a third."""
    _tokens(builder, 3)
    if builder.draw.random() < 0.4:
        rowwise.rms_norm(builder)
    given = builder.shape[-1]
    hidden = builder.axis("hidden_dim", builder.draw.choice(builder.sizes.features))
    names = (builder.argument(given), builder.argument(hidden))
    gate, up = (
        builder.module(name, f"nn.Linear({', '.join(names)}, bias=False)")
        for name in ("gate", "up")
    )
    function = builder.draw.choice(("F.silu", "F.gelu", "torch.sigmoid", "torch.relu"))
    builder.step(f"{function}({gate}(x)) * {up}(x)", "gated linear map")
    builder.shape, builder.feature = (*builder.shape[:-1], hidden), -1
    linear(builder, given)
    builder.words.append("down to the first width")


def attention(builder: TaskBuilder) -> None:
    """Write attention with several heads, causal or not."""
    draw, sizes = builder.draw, builder.sizes
    head = draw.choice((16, 32, 64) if max(sizes.features) > 64 else (8, 16))
    n_heads, length = draw.choice((2, 4, 8)), draw.choice([t for t in sizes.tokens if t <= 1024])
    batch = builder.axis("batch_size", draw.choice((1, 2, 4)), most=FREE)
    heads = builder.axis("n_heads", n_heads)
    shape = (
        batch,
        heads,
        builder.axis("seq_len", length, most=TOKENS),
        builder.axis("head_dim", head),
    )
    builder.begin(shape)
    builder.is_positive = False
    keys, values = builder.input("k", shape), builder.input("v", shape)
    builder.forward.append(f"scores = x @ {keys}.transpose(-2, -1) * {head**-0.5!r}")
    if draw.random() < 0.4:
        builder.forward.append(
            "mask = torch.ones(x.shape[2], x.shape[2], dtype=torch.bool, device=x.device).tril()"
        )
        builder.forward.append('scores = scores.masked_fill(~mask, float("-inf"))')
        builder.words.append("causal mask")
    elif draw.random() < 0.4:
        bias = builder.parameter("bias", [builder.argument(heads), "1", "1"])
        builder.forward.append(f"scores = scores * torch.exp({bias})")
        builder.words.append("temperature of each head")
    builder.step(f"torch.softmax(scores, dim=-1) @ {values}", "attention")
    if draw.random() < 0.5:
        builder.step("x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)", "joined heads")
        activation(builder)


def residual_conv(builder: TaskBuilder) -> None:
    """Write two convolutions with normalisation and a residual around them."""
    draw, sizes = builder.draw, builder.sizes
    n_all = min(draw.choice(sizes.elements), sizes.work // (2 * 9 * max(sizes.channels)))
    builder.begin(shapes.image(builder, n_all), feature=1)
    kept = builder.keep("identity")
    channels = builder.argument(builder.shape[1])
    for number in (1, 2):
        made = f"nn.Conv2d({channels}, {channels}, kernel_size=3, padding=1, bias=False)"
        builder.step(f"{builder.module(f'conv{number}', made)}(x)", "convolution")
        rowwise.batch_norm(builder)
        if number == 1:
            activation(builder)
    builder.step(f"x + {kept}", "residual")
    activation(builder)


def small_cnn(builder: TaskBuilder) -> None:
    """Write convolution, activation and pooling twice, then a classifier."""
    draw, sizes = builder.draw, builder.sizes
    n_all = min(draw.choice(sizes.elements), sizes.work // (9 * max(sizes.channels)))
    builder.begin(shapes.image(builder, n_all), feature=1)
    for _ in range(draw.choice((1, 2))):
        convolution(builder, draw.choice(sizes.channels), 3)
        activation(builder)
        pool(builder)
        if builder.shape[-1].text == "1":
            break
    fold_to_vector(builder)
    linear(builder, builder.axis("num_classes", draw.choice((10, 100))))


def fold_to_vector(builder: TaskBuilder) -> None:
    """Set x to the mean over its positions."""
    builder.step("x.mean(dim=(2, 3))", "mean over all positions", positive=builder.is_positive)
    builder.drop((2, 3), keep=False)


def squeeze(builder: TaskBuilder) -> None:
    """Write channels that are scaled by a small network of their means."""
    builder.begin(shapes.image(builder), feature=1)
    channels = builder.argument(builder.shape[1])
    reduced = builder.argument(builder.axis("reduced", max(2, builder.shape[1].n // 4)))
    down = builder.module("fc1", f"nn.Linear({channels}, {reduced})")
    up = builder.module("fc2", f"nn.Linear({reduced}, {channels})")
    builder.forward.append("s = x.mean(dim=(2, 3))")
    builder.forward.append(f"s = torch.sigmoid({up}(torch.relu({down}(s))))")
    builder.step("x * s[:, :, None, None]", "squeeze and excitation", positive=builder.is_positive)
    activation(builder)


def recurrence(builder: TaskBuilder) -> None:
    """Write a recurrence in time as a loop."""
    draw, sizes = builder.draw, builder.sizes
    n_steps = draw.choice(sizes.unrolled)
    batch = builder.axis("batch_size", draw.choice((16, 32, 64)), most=FREE)
    steps, dim = (
        builder.axis("seq_len", n_steps),
        builder.axis("dim", draw.choice(sizes.features[:4])),
    )
    builder.begin((batch, steps, dim))
    if draw.random() < 0.5:
        name = builder.argument(dim)
        maps = [builder.module(part, f"nn.Linear({name}, {name})") for part in ("inp", "rec")]
        body = f"h = torch.tanh({maps[0]}(x[:, t]) + {maps[1]}(h))"
        word = "recurrent network"
    else:
        decay = builder.parameter("decay", [builder.argument(dim)])
        body = f"h = torch.sigmoid({decay}) * h + x[:, t]"
        word = "running average with learned decay"
    builder.forward += [
        "h = torch.zeros_like(x[:, 0])",
        "outs = []",
        "for t in range(x.shape[1]):",
        f"    {body}",
        "    outs.append(h)",
    ]
    builder.step("torch.stack(outs, dim=1)", word)
    if draw.random() < 0.4:
        activation(builder)


def embedding(builder: TaskBuilder) -> None:
    """Write a lookup of table rows by index, then their normalisation or reduction."""
    draw = builder.draw
    n_rows, n_dim = draw.choice(builder.sizes.columns), draw.choice(builder.sizes.features)
    table, dim = builder.axis("num_embeddings", n_rows), builder.axis("embedding_dim", n_dim)
    batch = builder.axis("batch_size", max(2, builder.sizes.elements[0] // (n_dim * 16)), most=FREE)
    length = builder.axis("seq_len", draw.choice((16, 32)))
    builder.input("x", (batch, length), f"torch.randint(0, {table.text}, ({{shape}}))")
    made = f"nn.Embedding({builder.argument(table)}, {builder.argument(dim)})"
    builder.shape = (batch, length)
    builder.step(f"{builder.module('embed', made)}(x)", "embedding")
    builder.shape, builder.feature = (batch, length, dim), -1
    if draw.random() < 0.6:
        draw.choice((rowwise.layer_norm, rowwise.rms_norm))(builder)
        activation(builder)
    else:
        activation(builder)
        fold(builder, (1,))
