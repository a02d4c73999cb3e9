"""A linear layer and what takes a second kernel after it, or a third: one that has a program for
each row, group or column of features."""

from __future__ import annotations

from kernelwright.suites.composed.lessons.linears import Layer, layer, product
from kernelwright.suites.composed.lessons.page import Page, block
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
"""Of rows of one value: they change nothing, and some write them."""


def reduced(page: Page) -> str:
    """A layer, steps, and one value for each row."""
    draw = page.draw
    is_again = draw.random() < 0.2
    how = draw.choice(("{x}", "{x}", "{x}.clone()", "{x}.clone().detach()"))
    kept = draw.choice(("original_x", "residual", "identity"))
    found = layer(page)
    if is_again:
        page.forward.insert(0, f"{kept} = {how.format(x=page.first)}")
    steps(page, 0, draw.choice((0, 1, 2)))
    text, lines = product(page, found, page.take())
    body, shape = fold(page, is_kept=is_again or draw.random() < 0.6)
    if not is_again:
        return _rows(page, text, lines, [*ROW, *body, "tl.store(out + row, v)"], shape)
    page.step(f"{page.x} + {kept}", "sum with the input")
    body += [*SPREAD, "    tl.store(out + row * k + at, v + w, mask=at < k)"]
    text += (
        "\n\n" + head("x", "a", "out", "n", "k", *page.given, name="rows") + block([*ROW, *body])
    )
    lines += ["result = torch.empty_like(a)",
              f"rows[(m,)](out, a, result, n, k{page.more}, {page.schedule.row('n')})",
              "return result"]  # fmt: skip
    return answer(page, text, "\n".join(lines))


SPREAD = (
    "for start in range(0, k, BLOCK):", "    at = start + tl.arange(0, BLOCK)",
    "    w = tl.load(a + row * k + at, mask=at < k, other=0.0)",
)  # fmt: skip
"""Over a row of the layer's input, as wide as it may be."""


def fold(page: Page, *, is_kept: bool) -> tuple[list[str], str]:
    """One value for each row, steps on it, and other reductions of one value."""
    draw = page.draw
    words = {s.word: s for s in REDUCTIONS}
    word = draw.choice((*REDUCED, "log-sum-exp"))
    dim = draw.choice(("1", "1", "-1"))
    form = draw.choice(words[word].forms)
    page.step(form.format(x=page.x, d=dim, k=KEEP * is_kept), word)
    page.lines += LOG_SUM_EXP if word == "log-sum-exp" else [REDUCED[word]]
    page.place = ""
    for _ in range(draw.choice((0, 0, 0, 1, 2)) if is_kept else 0):
        again = draw.choice([w for w in AGAIN if w != word])
        page.step(AGAIN[again].format(x=page.x), f"{again} of one value")
    steps(page, 0, 2, learned=False)
    return page.take(), "m, 1" if is_kept else "m"


def mapped(page: Page) -> str:
    """A layer, steps, and a softmax or norm of rows; now and then a reduction after it."""
    draw = page.draw
    found = layer(page)
    steps(page, 0, draw.choice((0, 1, 2)))
    text, lines = product(page, found, page.take())
    word = draw.choice((*MAPPED, "softmax", "layer norm", "instance norm"))
    page.place, page.live = "column", "inside"
    if word == "layer norm":
        _layer_norm(page, found)
    elif word == "instance norm":
        _instance_norm(page, found)
    else:
        _mapped(page, word)
    steps(page, 0, 2)
    body = page.take()
    if draw.random() < 0.2:
        more, shape = fold(page, is_kept=draw.random() < 0.6)
        return _rows(page, text, lines, [*ROW, *body, *more, "tl.store(out + row, v)"], shape)
    store = "tl.store(out + row * n + column, v, mask=inside)"
    return _rows(page, text, lines, [*ROW, *body, store], "m, n")


def _mapped(page: Page, word: str) -> None:
    form = page.draw.choice(next(s for s in MAPS if s.word == word).forms)
    if form.startswith("nn."):
        form = f"{page.module(word.replace('-', '_'), form.format(d=1))}({{x}})"
    page.part(form.format(x=page.x, d=page.draw.choice(("1", "-1"))), word, "norm")
    page.lines += MAPPED[word]


CENTRE = (
    "mean = tl.sum(tl.where(inside, v, 0.0), 0) / n", "v = tl.where(inside, v - mean, 0.0)",
    "v = tl.where(inside, v - tl.sum(v, 0) / n, 0.0)",
    "v = v / tl.sqrt(tl.sum(v * v, 0) / n + eps)",
)  # fmt: skip
WEIGHTED = ("v = v * tl.load(gamma + column, mask=inside) + tl.load(beta + column, mask=inside)",)


def _weights(page: Page, called: str) -> None:
    page.given |= {"gamma": f"{called}.weight", "beta": f"{called}.bias", "eps": f"{called}.eps"}


def _layer_norm(page: Page, found: Layer) -> None:
    called = page.module(
        page.draw.choice(("norm", "ln", "layer_norm")),
        f"nn.LayerNorm({found.n.text}{page.small()})",
    )
    page.step(f"{called}({page.x})", "layer norm")
    page.lines += [*CENTRE, *WEIGHTED]
    _weights(page, called)


def _instance_norm(page: Page, found: Layer) -> None:
    called = page.module(
        page.draw.choice(("norm", "instance_norm")), f"nn.InstanceNorm1d({found.n.text})"
    )
    page.step(f"{called}({page.x}.unsqueeze(1)).squeeze(1)", "instance norm of one channel")
    page.lines += CENTRE
    page.given["eps"] = f"{called}.eps"


def grouped(page: Page) -> str:
    """A layer, steps, and a group norm of the features."""
    draw = page.draw
    found = layer(page)
    steps(page, 0, draw.choice((0, 0, 1, 2)))
    text, lines = product(page, found, page.take())
    groups = "num_groups"
    page.numbers[groups] = (n := draw.choice((2, 4, 8)), n)
    page.arguments.append(groups)
    whole = f"num_groups={groups}, num_channels={found.n.text}"
    told = draw.choice((f"{groups}, {found.n.text}", whole)) + page.small()
    called = page.module(
        draw.choice(("norm", "gn", "group_norm", "groupnorm")), f"nn.GroupNorm({told})"
    )
    page.step(f"{called}({page.x})", "group norm")
    _weights(page, called)
    page.place, page.live = "c", "inside"
    if draw.random() < 0.35:
        return _grouped_fold(page, text, lines, (called, found.n.text))
    steps(page, 0, draw.choice((1, 1, 2)))
    body = [
        "group = tl.program_id(0)", "column = tl.arange(0, BLOCK)", "inside = column < n",
        "c = group % groups * n + column",
        "v = tl.load(out + group * n + column, mask=inside, other=0.0)",
        *CENTRE, *(line.replace("column", "c") for line in WEIGHTED), *page.take(),
        "tl.store(out + group * n + column, v, mask=inside)",
    ]  # fmt: skip
    names = ["out", "n", "groups", *page.given]
    text += "\n\n" + head(*names, name="rows") + block(body)
    lines += [
        f"groups = {called}.num_groups",
        f"rows[(m * groups,)](out, n // groups, groups{page.more}, "
        f"{page.schedule.row('n // groups')})", "return out",
    ]  # fmt: skip
    return answer(page, text, "\n".join(lines))


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
"""Of a row, group by group: what it begins with, what a group adds, what is found."""


def _grouped_fold(page: Page, text: str, lines: list[str], norm: tuple[str, str]) -> str:
    """The groups of a row one after another, and one value of all of them; perhaps with a learned
    tensor that the value is spread over. ``norm`` is the module, and how many features it has."""
    draw, (called, features) = page.draw, norm
    inner = [*CENTRE, *(line.replace("column", "c") for line in WEIGHTED)]
    word, is_kept = draw.choice(tuple(FOLDED)), draw.random() < 0.7
    form = draw.choice(next(s for s in REDUCTIONS if s.word == word).forms)
    page.step(form.format(x=page.x, d=draw.choice(("1", "1", "-1")), k=KEEP * is_kept), word)
    page.place = ""
    steps(page, 0, 1, learned=False)
    start, adds, last = FOLDED[word]
    names = ["x", "out", "n", "groups", *page.given]
    text += "\n\n" + head(*names, name="rows") + block([
        "row = tl.program_id(0)", "column = tl.arange(0, BLOCK)", "inside = column < n",
        f"total = tl.full([BLOCK], {start}, tl.float32)", "for group in range(0, groups):",
        *(f"    {line}" for line in ("c = group * n + column",
          "v = tl.load(x + row * groups * n + c, mask=inside, other=0.0)", *inner, adds)),
        f"v = {last}", *page.take(), "tl.store(out + row, v)",
    ])  # fmt: skip
    more = page.more
    end = "return result"
    if is_kept and draw.random() < 0.5:
        shape = draw.choice((f"1, {features}", f"1, {features}, 1, 1"))
        if draw.random() < 0.6:
            page.tuples["bias_shape"] = f"({shape})"
            page.arguments.append("bias_shape")
            shape = "bias_shape"
        held = page.module("bias", f"nn.Parameter(torch.randn({shape}))")
        page.step(f"{page.x} + {held}", "sum with a learned tensor")
        end = f"return result + {held}"
    lines += [
        f"groups = {called}.num_groups", f"result = a.new_empty({'m, 1' if is_kept else 'm'})",
        f"rows[(m,)](out, result, n // groups, groups{more}, {page.schedule.row('n // groups')})",
        end,
    ]  # fmt: skip
    return answer(page, text, "\n".join(lines))


def batch_normed(page: Page) -> str:
    """A layer, steps, and a batch norm as in training: the statistics of each column."""
    draw = page.draw
    found = layer(page)
    steps(page, 0, draw.choice((0, 1, 2)))
    text, lines = product(page, found, page.take())
    told = draw.choice(("", "", ", eps=1e-3", ", momentum=0.2", "{}"))
    if told == "{}":
        told = f", eps={page.told('bn_eps', 1e-5)}, momentum={page.told('bn_momentum', 0.1)}"
    name = draw.choice(("bn", "norm", "batch_norm"))
    called = page.module(name, f"nn.BatchNorm1d({found.n.text}{told})")
    page.step(f"{called}({page.x})", "batch norm")
    _weights(page, called)
    page.place, page.live = "column", ""
    steps(page, 0, draw.choice((0, 1, 1, 2)))
    body = [
        "column = tl.program_id(0)", "row = tl.arange(0, BLOCK)", "inside = row < m",
        "v = tl.load(out + row * n + column, mask=inside, other=0.0)",
        *(line.replace("/ n", "/ m") for line in CENTRE),
        "v = v * tl.load(gamma + column) + tl.load(beta + column)", *page.take(),
        "tl.store(out + row * n + column, v, mask=inside)",
    ]  # fmt: skip
    text += "\n\n" + head("out", "m", "n", *page.given, name="columns") + block(body)
    lines += [f"columns[(n,)](out, m, n{page.more}, {page.schedule.row('m')})"]
    page.given = {}
    if draw.random() < 0.35:
        return _row_by_row(page, text, lines)
    return answer(page, text, "\n".join([*lines, "return out"]))


def _row_by_row(page: Page, text: str, lines: list[str]) -> str:
    """With a further kernel for a softmax, or one value for each row."""
    draw = page.draw
    page.place, page.live = "column", "inside"
    if draw.random() < 0.5:
        body, shape = fold(page, is_kept=draw.random() < 0.6)
        return _rows(page, text, lines, [*ROW, *body, "tl.store(out + row, v)"], shape)
    word = draw.choice(("softmax", "softmax", "log-softmax"))
    _mapped(page, word)
    store = "tl.store(out + row * n + column, v, mask=inside)"
    return _rows(page, text, lines, [*ROW, *page.take(), store], "m, n")


def pooled(page: Page) -> str:
    """A layer, steps, neighbouring features pooled, steps, and perhaps one value for each row."""
    draw = page.draw
    found = layer(page)
    steps(page, 0, draw.choice((0, 0, 1)))
    text, lines = product(page, found, page.take())
    name = draw.choice(("pool_kernel_size", "kernel_size", "pool_size"))
    page.numbers[name] = (n := draw.choice((2, 3, 4)), n)
    page.arguments.append(name)
    is_most = draw.random() < 0.5
    cls, word = ("nn.MaxPool1d", "max pool") if is_most else ("nn.AvgPool1d", "average pool")
    called = page.module(draw.choice(("pool", word.replace("average", "avg").replace(" ", "_"))),
                         f"{cls}({draw.choice((name, f'kernel_size={name}'))})")  # fmt: skip
    page.step(f"{called}({page.x}.unsqueeze(1)).squeeze(1)", f"{word} of features")
    page.place = ""
    start, adds = ('float("-inf")', "v = tl.maximum(v, w)") if is_most else ("0.0", "v = v + w")
    page.lines += [] if is_most else ["v = v / size"]
    steps(page, 0, 2, learned=False)
    body = page.take()
    ends = "tl.store(out + row * n + column, v, mask=inside)"
    shape = "m, n // size"
    if draw.random() < 0.5:
        more, shape = fold(page, is_kept=draw.random() < 0.6)
        body, ends = [*body, *more], "tl.store(out + row, v)"
    names = ["x", "out", "n", "width", "size", *page.given]
    text += "\n\n" + head(*names, name="rows") + block([
        "row = tl.program_id(0)", "column = tl.arange(0, BLOCK)", "inside = column < n",
        f"v = tl.full([BLOCK], {start}, tl.float32)", "for j in range(0, size):",
        "    w = tl.load(x + row * width + column * size + j, mask=inside, other=0.0)",
        f"    {adds}",
        *body, ends,
    ])  # fmt: skip
    size = f"{called}.kernel_size" + ("" if is_most else "[0]")
    lines += [
        f"size = {size}", f"result = a.new_empty({shape})",
        f"rows[(m,)](out, result, n // size, n, size{page.more}, "
        f"{page.schedule.row('n // size')})", "return result",
    ]  # fmt: skip
    return answer(page, text, "\n".join(lines))


def _rows(page: Page, text: str, lines: list[str], body: list[str], shape: str) -> str:
    """A second kernel with a program for each row of the first one's result: in its place, or one
    value for each row."""
    is_map = shape == "m, n"
    body = [line.replace("tl.load(x + ", "tl.load(out + ") for line in body] if is_map else body
    text += "\n\n" + head(*["x"] * (not is_map), "out", "n", *page.given, name="rows") + block(body)
    lines = [*lines, *[f"result = a.new_empty({shape})"] * (not is_map),
             f"rows[(m,)](out, {'result, ' * (not is_map)}n{page.more}, "
             f"{page.schedule.row('n')})",
             "return out" if is_map else "return result"]  # fmt: skip
    return answer(page, text, "\n".join(lines))
