"""Small networks: several products or convolutions with what stands between them."""

from __future__ import annotations

from kernelwright.suites.composed import rowwise, shapes
from kernelwright.suites.composed.chain import activation
from kernelwright.suites.composed.draft import FREE, TOKENS, Draft
from kernelwright.suites.composed.elementwise import fold
from kernelwright.suites.composed.products import convolution, linear, pool


def network(draft: Draft) -> None:
    """One of the blocks below."""
    draft.draw.choice((mlp, gated_mlp, attention, residual_conv, small_cnn, squeeze, recurrence,
                       embedding))(draft)  # fmt: skip


def _tokens(draft: Draft, n_products: int, *, width: int | None = None) -> None:
    """x is positions with features, so that some products of them stay within the work."""
    draw, sizes = draft.draw, draft.sizes
    n = width or draw.choice(sizes.features)
    fits = [t for t in sizes.tokens if t * n * n * n_products <= sizes.work]
    n_tokens = draw.choice(fits or [min(sizes.tokens)])
    batch = draft.axis(draw.choice(("batch_size", "tokens")), n_tokens, most=FREE)
    draft.begin((batch, draft.axis(draw.choice(("dim", "in_features", "hidden_size")), n)))


def mlp(draft: Draft) -> None:
    """Two or three linear maps with activations between them."""
    draw = draft.draw
    n_layers = draw.choice((2, 2, 3))
    _tokens(draft, n_layers)
    if draw.random() < 0.3:
        rowwise.layer_norm(draft)
    for _ in range(n_layers - 1):
        linear(draft, draft.axis("hidden", draw.choice(draft.sizes.features)))
        activation(draft)
    linear(draft, draft.axis("out_features", draw.choice(draft.sizes.features)))
    if draw.random() < 0.3:
        draft.step("F.log_softmax(x, dim=-1)", "log-softmax")


def gated_mlp(draft: Draft) -> None:
    """Two maps side by side, one the gate of the other, then a third."""
    _tokens(draft, 3)
    if draft.draw.random() < 0.4:
        rowwise.rms_norm(draft)
    given = draft.shape[-1]
    hidden = draft.axis("hidden_dim", draft.draw.choice(draft.sizes.features))
    names = (draft.argument(given), draft.argument(hidden))
    gate, up = (
        draft.module(name, f"nn.Linear({', '.join(names)}, bias=False)") for name in ("gate", "up")
    )
    function = draft.draw.choice(("F.silu", "F.gelu", "torch.sigmoid", "torch.relu"))
    draft.step(f"{function}({gate}(x)) * {up}(x)", "gated linear map")
    draft.shape, draft.feature = (*draft.shape[:-1], hidden), -1
    linear(draft, given)
    draft.words.append("down to the first width")


def attention(draft: Draft) -> None:
    """Queries, keys and values of several heads; causal or not."""
    draw, sizes = draft.draw, draft.sizes
    head = draw.choice((16, 32, 64) if max(sizes.features) > 64 else (8, 16))
    n_heads, length = draw.choice((2, 4, 8)), draw.choice([t for t in sizes.tokens if t <= 1024])
    batch = draft.axis("batch_size", draw.choice((1, 2, 4)), most=FREE)
    heads = draft.axis("n_heads", n_heads)
    shape = (batch, heads, draft.axis("seq_len", length, most=TOKENS), draft.axis("head_dim", head))
    draft.begin(shape)
    draft.is_positive = False
    keys, values = draft.input("k", shape), draft.input("v", shape)
    draft.forward.append(f"scores = x @ {keys}.transpose(-2, -1) * {head**-0.5!r}")
    if draw.random() < 0.4:
        draft.forward.append(
            "mask = torch.ones(x.shape[2], x.shape[2], dtype=torch.bool, device=x.device).tril()"
        )
        draft.forward.append('scores = scores.masked_fill(~mask, float("-inf"))')
        draft.words.append("causal mask")
    elif draw.random() < 0.4:
        bias = draft.parameter("bias", [draft.argument(heads), "1", "1"])
        draft.forward.append(f"scores = scores * torch.exp({bias})")
        draft.words.append("temperature of each head")
    draft.step(f"torch.softmax(scores, dim=-1) @ {values}", "attention")
    if draw.random() < 0.5:
        draft.step("x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)", "joined heads")
        activation(draft)


def residual_conv(draft: Draft) -> None:
    """Two convolutions with normalisation and a residual around them."""
    draw, sizes = draft.draw, draft.sizes
    n_all = min(draw.choice(sizes.elements), sizes.work // (2 * 9 * max(sizes.channels)))
    draft.begin(shapes.image(draft, n_all), feature=1)
    kept = draft.keep("identity")
    channels = draft.argument(draft.shape[1])
    for number in (1, 2):
        made = f"nn.Conv2d({channels}, {channels}, kernel_size=3, padding=1, bias=False)"
        draft.step(f"{draft.module(f'conv{number}', made)}(x)", "convolution")
        rowwise.batch_norm(draft)
        if number == 1:
            activation(draft)
    draft.step(f"x + {kept}", "residual")
    activation(draft)


def small_cnn(draft: Draft) -> None:
    """Convolution, activation and pooling twice, then a classifier."""
    draw, sizes = draft.draw, draft.sizes
    n_all = min(draw.choice(sizes.elements), sizes.work // (9 * max(sizes.channels)))
    draft.begin(shapes.image(draft, n_all), feature=1)
    for _ in range(draw.choice((1, 2))):
        convolution(draft, draw.choice(sizes.channels), 3)
        activation(draft)
        pool(draft)
        if draft.shape[-1].text == "1":
            break
    fold_to_vector(draft)
    linear(draft, draft.axis("num_classes", draw.choice((10, 100))))


def fold_to_vector(draft: Draft) -> None:
    """Let x be the mean over its positions."""
    draft.step("x.mean(dim=(2, 3))", "mean over all positions", positive=draft.is_positive)
    draft.drop((2, 3), keep=False)


def squeeze(draft: Draft) -> None:
    """Channels scaled by what a small network makes of their means."""
    draft.begin(shapes.image(draft), feature=1)
    channels = draft.argument(draft.shape[1])
    reduced = draft.argument(draft.axis("reduced", max(2, draft.shape[1].n // 4)))
    down = draft.module("fc1", f"nn.Linear({channels}, {reduced})")
    up = draft.module("fc2", f"nn.Linear({reduced}, {channels})")
    draft.forward.append("s = x.mean(dim=(2, 3))")
    draft.forward.append(f"s = torch.sigmoid({up}(torch.relu({down}(s))))")
    draft.step("x * s[:, :, None, None]", "squeeze and excitation", positive=draft.is_positive)
    activation(draft)


def recurrence(draft: Draft) -> None:
    """A recurrence in time, written as a loop."""
    draw, sizes = draft.draw, draft.sizes
    n_steps = draw.choice(sizes.unrolled)
    batch = draft.axis("batch_size", draw.choice((16, 32, 64)), most=FREE)
    steps, dim = draft.axis("seq_len", n_steps), draft.axis("dim", draw.choice(sizes.features[:4]))
    draft.begin((batch, steps, dim))
    if draw.random() < 0.5:
        name = draft.argument(dim)
        maps = [draft.module(part, f"nn.Linear({name}, {name})") for part in ("inp", "rec")]
        body = f"h = torch.tanh({maps[0]}(x[:, t]) + {maps[1]}(h))"
        word = "recurrent network"
    else:
        decay = draft.parameter("decay", [draft.argument(dim)])
        body = f"h = torch.sigmoid({decay}) * h + x[:, t]"
        word = "running average with learned decay"
    draft.forward += ["h = torch.zeros_like(x[:, 0])", "outs = []", "for t in range(x.shape[1]):",
                      f"    {body}", "    outs.append(h)"]  # fmt: skip
    draft.step("torch.stack(outs, dim=1)", word)
    if draw.random() < 0.4:
        activation(draft)


def embedding(draft: Draft) -> None:
    """Rows of a table by index, then a normalisation or a fold of them."""
    draw = draft.draw
    n_rows, n_dim = draw.choice(draft.sizes.columns), draw.choice(draft.sizes.features)
    table, dim = draft.axis("num_embeddings", n_rows), draft.axis("embedding_dim", n_dim)
    batch = draft.axis("batch_size", max(2, draft.sizes.elements[0] // (n_dim * 16)), most=FREE)
    length = draft.axis("seq_len", draw.choice((16, 32)))
    draft.input("x", (batch, length), f"torch.randint(0, {table.text}, ({{shape}}))")
    made = f"nn.Embedding({draft.argument(table)}, {draft.argument(dim)})"
    draft.shape = (batch, length)
    draft.step(f"{draft.module('embed', made)}(x)", "embedding")
    draft.shape, draft.feature = (batch, length, dim), -1
    if draw.random() < 0.6:
        draw.choice((rowwise.layer_norm, rowwise.rms_norm))(draft)
        activation(draft)
    else:
        activation(draft)
        fold(draft, (1,))
