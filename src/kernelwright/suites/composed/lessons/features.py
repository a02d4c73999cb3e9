"""A linear layer followed by operations that need a second kernel, or a third: one with a program
for each row, group or column of features."""

from __future__ import annotations

from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.linears import Layer, layer, product
from kernelwright.suites.composed.lessons.schedule import whole_row
from kernelwright.suites.composed.lessons.statistics import KEEP, MAPS, REDUCTIONS
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head

ROW = (
    "row = tl.program_id(0)", "column = tl.arange(0, BLOCK)", "inside = column < n",
    "v = tl.load(x + row * n + column, mask=inside, other=0.0)",
)  # fmt: skip
REDUCED = {
    "sum": "v = tl.sum(tl.where(inside, v, 0.0), 0)",
    "mean": "v = tl.sum(tl.where(inside, v, 0.0), 0) / n",
    "maximum": 'v = tl.max(tl.where(inside, v, float("-inf")), 0)',
    "minimum": 'v = tl.min(tl.where(inside, v, float("inf")), 0)',
}
TOP = 'top = tl.max(tl.where(inside, v, float("-inf")), 0)'
TOTAL = "total = tl.sum(tl.where(inside, tl.exp(v - top), 0.0), 0)"
LOG_SUM_EXP = (TOP, TOTAL, "v = top + tl.log(total)")
MAPPED = {
    "softmax": (TOP, TOTAL, "v = tl.exp(v - top) / total"),
    "log-softmax": (TOP, TOTAL, "v = v - top - tl.log(total)"),
    "centred": ("v = v - tl.sum(tl.where(inside, v, 0.0), 0) / n",),
    "less the maximum": (TOP, "v = v - top"),
    "L2 norm 1": ("v = v / tl.sqrt(tl.sum(tl.where(inside, v * v, 0.0), 0))",),
    "RMS norm": ("v = v / tl.sqrt(tl.sum(tl.where(inside, v * v, 0.0), 0) / n + 1e-5)",),
}
AGAIN = {"sum": "torch.sum({x}, dim=1, keepdim=True)",
         "maximum": "torch.max({x}, dim=1, keepdim=True)[0]",
         "mean": "torch.mean({x}, dim=1, keepdim=True)",
         "log-sum-exp": "torch.logsumexp({x}, dim=1, keepdim=True)"}  # fmt: skip
"""Reductions of rows of one value: they change nothing, but some people write them."""


def reduced(builder: LessonBuilder) -> str:
    """Write a layer, steps, and one value for each row."""
    draw = builder.draw
    is_again = draw.random() < 0.2
    how = draw.choice(("{x}", "{x}", "{x}.clone()", "{x}.clone().detach()"))
    kept = draw.choice(("original_x", "residual", "identity"))
    found = layer(builder)
    if is_again:
        builder.forward.insert(0, f"{kept} = {how.format(x=builder.first)}")
    steps(builder, 0, draw.choice((0, 1, 2)))
    text, lines = product(builder, found, builder.take())
    body, shape = fold(builder, is_kept=is_again or draw.random() < 0.6)
    if not is_again:
        return _rows(builder, text, lines, [*ROW, *body, "tl.store(out + row, v)"], shape)
    builder.step(f"{builder.x} + {kept}", "sum with the input")
    body += [*SPREAD, "    tl.store(out + row * k + at, v + w, mask=at < k)"]
    text += (
        "\n\n" + head("x", "a", "out", "n", "k", *builder.given, name="rows") + block([*ROW, *body])
    )
    lines += [
        "result = torch.empty_like(a)",
        f"rows[(m,)](out, a, result, n, k{builder.more}, {whole_row('n')})",
        "return result",
    ]
    return answer(builder, text, "\n".join(lines))


SPREAD = (
    "for start in range(0, k, BLOCK):",
    "    at = start + tl.arange(0, BLOCK)",
    "    w = tl.load(a + row * k + at, mask=at < k, other=0.0)",
)
"""A loop over a row of the layer's input, of any width."""


def fold(builder: LessonBuilder, *, is_kept: bool) -> tuple[list[str], str]:
    """Append a reduction to one value for each row, steps on it, and further reductions of that one
    value."""
    draw = builder.draw
    words = {s.word: s for s in REDUCTIONS}
    word = draw.choice((*REDUCED, "log-sum-exp"))
    dim = draw.choice(("1", "1", "-1"))
    form = draw.choice(words[word].forms)
    builder.step(form.format(x=builder.x, d=dim, k=KEEP * is_kept), word)
    builder.lines += LOG_SUM_EXP if word == "log-sum-exp" else [REDUCED[word]]
    builder.place = ""
    for _ in range(draw.choice((0, 0, 0, 1, 2)) if is_kept else 0):
        again = draw.choice([w for w in AGAIN if w != word])
        builder.step(AGAIN[again].format(x=builder.x), f"{again} of one value")
    steps(builder, 0, 2, learned=False)
    return builder.take(), "m, 1" if is_kept else "m"


def mapped(builder: LessonBuilder) -> str:
    """Write a layer, steps, and a softmax or norm of rows, sometimes with a reduction after it."""
    draw = builder.draw
    found = layer(builder)
    steps(builder, 0, draw.choice((0, 1, 2)))
    text, lines = product(builder, found, builder.take())
    word = draw.choice((*MAPPED, "softmax", "layer norm", "instance norm"))
    builder.place, builder.live = "column", "inside"
    if word == "layer norm":
        _layer_norm(builder, found)
    elif word == "instance norm":
        _instance_norm(builder, found)
    else:
        _mapped(builder, word)
    steps(builder, 0, 2)
    body = builder.take()
    if draw.random() < 0.2:
        more, shape = fold(builder, is_kept=draw.random() < 0.6)
        return _rows(builder, text, lines, [*ROW, *body, *more, "tl.store(out + row, v)"], shape)
    store = "tl.store(out + row * n + column, v, mask=inside)"
    return _rows(builder, text, lines, [*ROW, *body, store], "m, n")


def _mapped(builder: LessonBuilder, word: str) -> None:
    form = builder.draw.choice(next(s for s in MAPS if s.word == word).forms)
    if form.startswith("nn."):
        form = f"{builder.module(word.replace('-', '_'), form.format(d=1))}({{x}})"
    builder.part(form.format(x=builder.x, d=builder.draw.choice(("1", "-1"))), word, "norm")
    builder.lines += MAPPED[word]


CENTRE = (
    "mean = tl.sum(tl.where(inside, v, 0.0), 0) / n", "v = tl.where(inside, v - mean, 0.0)",
    "v = tl.where(inside, v - tl.sum(v, 0) / n, 0.0)",
    "v = v / tl.sqrt(tl.sum(v * v, 0) / n + eps)",
)  # fmt: skip
WEIGHTED = ("v = v * tl.load(gamma + column, mask=inside) + tl.load(beta + column, mask=inside)",)


def _weights(builder: LessonBuilder, called: str) -> None:
    builder.given |= {"gamma": f"{called}.weight", "beta": f"{called}.bias", "eps": f"{called}.eps"}


def _layer_norm(builder: LessonBuilder, found: Layer) -> None:
    called = builder.module(
        builder.draw.choice(("norm", "ln", "layer_norm")),
        f"nn.LayerNorm({found.n.text}{builder.small()})",
    )
    builder.step(f"{called}({builder.x})", "layer norm")
    builder.lines += [*CENTRE, *WEIGHTED]
    _weights(builder, called)


def _instance_norm(builder: LessonBuilder, found: Layer) -> None:
    called = builder.module(
        builder.draw.choice(("norm", "instance_norm")), f"nn.InstanceNorm1d({found.n.text})"
    )
    builder.step(f"{called}({builder.x}.unsqueeze(1)).squeeze(1)", "instance norm of one channel")
    builder.lines += CENTRE
    builder.given["eps"] = f"{called}.eps"


def grouped(builder: LessonBuilder) -> str:
    """Write a layer, steps, and a group norm of the features."""
    draw = builder.draw
    found = layer(builder)
    steps(builder, 0, draw.choice((0, 0, 1, 2)))
    text, lines = product(builder, found, builder.take())
    groups = "num_groups"
    builder.numbers[groups] = (n := draw.choice((2, 4, 8)), n)
    builder.arguments.append(groups)
    whole = f"num_groups={groups}, num_channels={found.n.text}"
    arguments = draw.choice((f"{groups}, {found.n.text}", whole)) + builder.small()
    called = builder.module(
        draw.choice(("norm", "gn", "group_norm", "groupnorm")), f"nn.GroupNorm({arguments})"
    )
    builder.step(f"{called}({builder.x})", "group norm")
    _weights(builder, called)
    builder.place, builder.live = "c", "inside"
    if draw.random() < 0.35:
        return _grouped_fold(builder, text, lines, (called, found.n.text))
    steps(builder, 0, draw.choice((1, 1, 2)))
    body = [
        "group = tl.program_id(0)", "column = tl.arange(0, BLOCK)", "inside = column < n",
        "c = group % groups * n + column",
        "v = tl.load(out + group * n + column, mask=inside, other=0.0)",
        *CENTRE, *(line.replace("column", "c") for line in WEIGHTED), *builder.take(),
        "tl.store(out + group * n + column, v, mask=inside)",
    ]  # fmt: skip
    names = ["out", "n", "groups", *builder.given]
    text += "\n\n" + head(*names, name="rows") + block(body)
    lines += [
        f"groups = {called}.num_groups",
        f"rows[(m * groups,)](out, n // groups, groups{builder.more}, {whole_row('n // groups')})",
        "return out",
    ]
    return answer(builder, text, "\n".join(lines))


FOLDED = {
    "sum": ("0.0", "total += tl.where(inside, v, 0.0)", "tl.sum(total, 0)"),
    "mean": ("0.0", "total += tl.where(inside, v, 0.0)", "tl.sum(total, 0) / (groups * n)"),
    "maximum": (
        'float("-inf")', 'total = tl.maximum(total, tl.where(inside, v, float("-inf")))',
        "tl.max(total, 0)",
    ),
    "minimum": (
        'float("inf")', 'total = tl.minimum(total, tl.where(inside, v, float("inf")))',
        "tl.min(total, 0)",
    ),
}  # fmt: skip
"""Reduction of a row, group by group: start value, update for a group, result."""


def _grouped_fold(
    builder: LessonBuilder, text: str, lines: list[str], norm: tuple[str, str]
) -> str:
    """Append the groups of a row one after another, and one value of all of them, perhaps with a
    learned tensor that the value is broadcast over. ``norm`` is the module, and its number of
    features."""
    draw, (called, features) = builder.draw, norm
    inner = [*CENTRE, *(line.replace("column", "c") for line in WEIGHTED)]
    word, is_kept = draw.choice(tuple(FOLDED)), draw.random() < 0.7
    form = draw.choice(next(s for s in REDUCTIONS if s.word == word).forms)
    builder.step(form.format(x=builder.x, d=draw.choice(("1", "1", "-1")), k=KEEP * is_kept), word)
    builder.place = ""
    steps(builder, 0, 1, learned=False)
    start, adds, last = FOLDED[word]
    names = ["x", "out", "n", "groups", *builder.given]
    text += (
        "\n\n"
        + head(*names, name="rows")
        + block(
            [
                "row = tl.program_id(0)",
                "column = tl.arange(0, BLOCK)",
                "inside = column < n",
                f"total = tl.full([BLOCK], {start}, tl.float32)",
                "for group in range(0, groups):",
                *(
                    f"    {line}"
                    for line in (
                        "c = group * n + column",
                        "v = tl.load(x + row * groups * n + c, mask=inside, other=0.0)",
                        *inner,
                        adds,
                    )
                ),
                f"v = {last}",
                *builder.take(),
                "tl.store(out + row, v)",
            ]
        )
    )
    more = builder.more
    end = "return result"
    if is_kept and draw.random() < 0.5:
        shape = draw.choice((f"1, {features}", f"1, {features}, 1, 1"))
        if draw.random() < 0.6:
            builder.tuples["bias_shape"] = f"({shape})"
            builder.arguments.append("bias_shape")
            shape = "bias_shape"
        held = builder.module("bias", f"nn.Parameter(torch.randn({shape}))")
        builder.step(f"{builder.x} + {held}", "sum with a learned tensor")
        end = f"return result + {held}"
    ending = whole_row("n // groups")
    lines += [
        f"groups = {called}.num_groups",
        f"result = a.new_empty({'m, 1' if is_kept else 'm'})",
        f"rows[(m,)](out, result, n // groups, groups{more}, {ending})",
        end,
    ]
    return answer(builder, text, "\n".join(lines))


def batch_normed(builder: LessonBuilder) -> str:
    """Write a layer, steps, and a batch norm in training mode: the statistics of each column."""
    draw = builder.draw
    found = layer(builder)
    steps(builder, 0, draw.choice((0, 1, 2)))
    text, lines = product(builder, found, builder.take())
    arguments = draw.choice(("", "", ", eps=1e-3", ", momentum=0.2", "{}"))
    if arguments == "{}":
        eps = builder.argument_number("bn_eps", 1e-5)
        momentum = builder.argument_number("bn_momentum", 0.1)
        arguments = f", eps={eps}, momentum={momentum}"
    name = draw.choice(("bn", "norm", "batch_norm"))
    called = builder.module(name, f"nn.BatchNorm1d({found.n.text}{arguments})")
    builder.step(f"{called}({builder.x})", "batch norm")
    _weights(builder, called)
    builder.place, builder.live = "column", ""
    steps(builder, 0, draw.choice((0, 1, 1, 2)))
    body = [
        "column = tl.program_id(0)", "row = tl.arange(0, BLOCK)", "inside = row < m",
        "v = tl.load(out + row * n + column, mask=inside, other=0.0)",
        *(line.replace("/ n", "/ m") for line in CENTRE),
        "v = v * tl.load(gamma + column) + tl.load(beta + column)", *builder.take(),
        "tl.store(out + row * n + column, v, mask=inside)",
    ]  # fmt: skip
    text += "\n\n" + head("out", "m", "n", *builder.given, name="columns") + block(body)
    lines += [f"columns[(n,)](out, m, n{builder.more}, {whole_row('m')})"]
    builder.given = {}
    if draw.random() < 0.35:
        return _row_by_row(builder, text, lines)
    return answer(builder, text, "\n".join([*lines, "return out"]))


def _row_by_row(builder: LessonBuilder, text: str, lines: list[str]) -> str:
    """Append a further kernel for a softmax, or for one value for each row."""
    draw = builder.draw
    builder.place, builder.live = "column", "inside"
    if draw.random() < 0.5:
        body, shape = fold(builder, is_kept=draw.random() < 0.6)
        return _rows(builder, text, lines, [*ROW, *body, "tl.store(out + row, v)"], shape)
    word = draw.choice(("softmax", "softmax", "log-softmax"))
    _mapped(builder, word)
    store = "tl.store(out + row * n + column, v, mask=inside)"
    return _rows(builder, text, lines, [*ROW, *builder.take(), store], "m, n")


def pooled(builder: LessonBuilder) -> str:
    """Write a layer, steps, neighbouring features pooled, steps, and perhaps one value for each
    row."""
    draw = builder.draw
    found = layer(builder)
    steps(builder, 0, draw.choice((0, 0, 1)))
    text, lines = product(builder, found, builder.take())
    name = draw.choice(("pool_kernel_size", "kernel_size", "pool_size"))
    builder.numbers[name] = (n := draw.choice((2, 3, 4)), n)
    builder.arguments.append(name)
    is_most = draw.random() < 0.5
    cls, word = ("nn.MaxPool1d", "max pool") if is_most else ("nn.AvgPool1d", "average pool")
    called = builder.module(
        draw.choice(("pool", word.replace("average", "avg").replace(" ", "_"))),
        f"{cls}({draw.choice((name, f'kernel_size={name}'))})",
    )
    builder.step(f"{called}({builder.x}.unsqueeze(1)).squeeze(1)", f"{word} of features")
    builder.place = ""
    start, adds = ('float("-inf")', "v = tl.maximum(v, w)") if is_most else ("0.0", "v = v + w")
    builder.lines += [] if is_most else ["v = v / size"]
    steps(builder, 0, 2, learned=False)
    body = builder.take()
    ends = "tl.store(out + row * n + column, v, mask=inside)"
    shape = "m, n // size"
    if draw.random() < 0.5:
        more, shape = fold(builder, is_kept=draw.random() < 0.6)
        body, ends = [*body, *more], "tl.store(out + row, v)"
    names = ["x", "out", "n", "width", "size", *builder.given]
    text += (
        "\n\n"
        + head(*names, name="rows")
        + block(
            [
                "row = tl.program_id(0)",
                "column = tl.arange(0, BLOCK)",
                "inside = column < n",
                f"v = tl.full([BLOCK], {start}, tl.float32)",
                "for j in range(0, size):",
                "    w = tl.load(x + row * width + column * size + j, mask=inside, other=0.0)",
                f"    {adds}",
                *body,
                ends,
            ]
        )
    )
    size = f"{called}.kernel_size" + ("" if is_most else "[0]")
    ending = whole_row("n // size")
    lines += [
        f"size = {size}",
        f"result = a.new_empty({shape})",
        f"rows[(m,)](out, result, n // size, n, size{builder.more}, {ending})",
        "return result",
    ]
    return answer(builder, text, "\n".join(lines))


def _rows(builder: LessonBuilder, text: str, lines: list[str], body: list[str], shape: str) -> str:
    """Append a second kernel with a program for each row of the first one's result: in place, or
    with one value for each row."""
    is_map = shape == "m, n"
    body = [line.replace("tl.load(x + ", "tl.load(out + ") for line in body] if is_map else body
    text += (
        "\n\n" + head(*["x"] * (not is_map), "out", "n", *builder.given, name="rows") + block(body)
    )
    lines = [
        *lines,
        *[f"result = a.new_empty({shape})"] * (not is_map),
        f"rows[(m,)](out, {'result, ' * (not is_map)}n{builder.more}, {whole_row('n')})",
        "return out" if is_map else "return result",
    ]
    return answer(builder, text, "\n".join(lines))
