"""A linear layer and what follows it: steps in the product's kernel, then at most one more kernel,
which has a program for each row, group or column of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.compose.draft import Axis
from kernelwright.compose.lessons import products
from kernelwright.compose.lessons.page import Page, block
from kernelwright.compose.lessons.schedule import Schedule
from kernelwright.compose.lessons.statistics import KEEP, MAPS, REDUCTIONS
from kernelwright.compose.lessons.steps import steps
from kernelwright.compose.lessons.writing import answer, head

LAYERS = ("linear", "fc", "gemm", "matmul", "layer", "proj", "dense")
INPUTS = (("in_features", "input_size", "input_dim", "d_in", "in_dim"), (24, 33, 40, 64))
OUTPUTS = (("out_features", "hidden_size", "output_size", "d_out", "hidden_dim"), (16, 32, 48))
BATCHES = (("batch_size", "batch_size", "batch", "N"), (5, 16, 33))
ROW = (
    "row = tl.program_id(0)", "column = tl.arange(0, BLOCK)", "inside = column < n",
    "v = tl.load(x + row * n + column, mask=inside, other=0.0)",
)  # fmt: skip
BIAS = "v = v + tl.load(bias + column % n)"


@dataclass
class Layer:
    """What the answer's forward says of the layer."""

    left: str
    right: str
    bias: str
    """Empty where it has none."""
    n: Axis
    is_turned: bool
    """Whether a row of the weight is of one result, as in a linear layer."""

    def loop(self, schedule: Schedule) -> list[str]:
        """The product's lines; both operands are contiguous."""
        place = "column % n * k + i" if self.is_turned else "i * n + column % n"
        turns = {"row % m * a_m + j * a_k": "row % m * k + j", "i * b_k + column % n * b_n": place}
        lines = "\n".join(products.loop(schedule))
        for old, new in turns.items():
            lines = lines.replace(old, new)
        return lines.split("\n")


def layer(page: Page, *, may_be_deep: bool = False) -> Layer:
    """x, and a linear layer on it: a module, or a weight that is held."""
    draw = page.draw
    rows, k, n = page.lengths(BATCHES, INPUTS, OUTPUTS, is_work=True)
    shape: tuple[Axis, ...] = (rows, k)
    if may_be_deep and draw.random() < 0.2:
        shape = (*page.lengths((("seq_len", "length"), (2, 3))), rows, k)
        shape = (shape[1], shape[0], k)
    called = draw.choice(("x", "x", "x", "x", "input", "inputs", "features_in"))
    name = page.start(shape, name=called,
                      how=draw.choice(("torch.rand({shape})", "torch.randn({shape})")))  # fmt: skip
    left = f"{name}.contiguous()" if len(shape) == 2 else f"{name}.reshape(-1, {name}.shape[-1])"
    inputs, outputs = page.argument(k), page.argument(n)
    kind = draw.random()
    if kind < 0.78:
        has_bias = draw.random() < 0.75
        told = "" if has_bias else ", bias=False"
        called = page.module(draw.choice(LAYERS), f"nn.Linear({inputs}, {outputs}{told})")
        page.step(f"{called}({page.x})", "linear")
        found = Layer(left, f"{called}.weight", f"{called}.bias" if has_bias else "", n, True)
    else:
        is_turned = draw.random() < 0.6
        sides = f"{outputs}, {inputs}" if is_turned else f"{inputs}, {outputs}"
        called = page.module("weight", f"nn.Parameter(torch.randn({sides}))")
        right = f"{called}.T" if is_turned else called
        forms = [f"torch.matmul({page.x}, {right})", f"{page.x} @ {right}"]
        forms += [f"F.linear({page.x}, {called})"] * is_turned
        page.step(draw.choice(forms), "product with a weight")
        found = Layer(left, called, "", n, is_turned)
    page.shape, page.feature = (*shape[:-1], n), -1
    page.place, page.live, page.is_positive = "column % n", "", False
    page.lines += [BIAS] if found.bias else []
    return found


def _product(page: Page, found: Layer, epilogue: Sequence[str]) -> tuple[str, list[str]]:
    """The kernel of the layer and its steps, and the forward up to its call. Takes what is
    given."""
    names, values = list(page.given), list(page.given.values())
    page.given = {}
    if found.bias:
        called = "bias_" if "bias" in names else "bias"
        epilogue = [BIAS.replace("bias", called), *epilogue[1:]]  # a learned one may read the same
        names, values = [called, *names], [found.bias, *values]
    operands = ["a", "b", *names, "out", "m", "n", "k"]
    sums = found.loop(page.schedule)
    text = head(*operands) + block([*products.HEAD, *sums, *epilogue, products.STORE])
    given = "".join(f"{value}, " for value in values)
    grid = products.grid(page.schedule)
    lines = [f"a, b = {found.left}, {found.right}", "m, k = a.shape",
             f"n = b.shape[{0 if found.is_turned else 1}]", "out = a.new_empty(m, n)",
             f"kernel[{grid}](a, b, {given}out, m, n, k, {page.schedule.of_tiles})"]  # fmt: skip
    return text, lines


def linear(page: Page) -> str:
    """A layer and pointwise steps, what was before them added again, a further argument."""
    draw = page.draw
    found = layer(page, may_be_deep=True)
    is_deep = len(page.shape) > 2
    n_steps = draw.choice((0, 1, 1, 2, 2, 3, 4))
    kind = draw.random()
    if n_steps and kind < 0.25:
        steps(page, 0, 1)
        how = draw.choice(("{x}", "{x}", "{x}.clone()", "{x}.clone().detach()"))
        kept = draw.choice(("original_x", "residual", "identity", "skip"))
        page.forward.append(f"{kept} = {how.format(x=page.x)}")
        page.words.append("kept")
        page.lines.append("first = v")
        steps(page, 1, n_steps)
        sign = draw.choice("++*-")
        page.step(f"{page.x} {sign} {kept}", "residual")
        page.lines.append(f"v = v {sign} first")
    else:
        steps(page, n_steps, n_steps)
        if kind > 0.85 and not is_deep:
            y = page.input(draw.choice(("y", "residual", "other")), page.shape)
            for sign in draw.choice(("+", "*", "-", "+*")):
                page.step(f"{page.x} {sign} {y}", "with an argument")
                read = f"tl.load(y + row * n + column, {products.LIVE}, other=0.0)"
                page.lines.append(f"v = v {sign} {read}")
            page.given["y"] = f"{y}.contiguous()"
            steps(page, 0, 1)
    text, lines = _product(page, found, page.take())
    end = f"return out.reshape(*{page.first}.shape[:-1], n)" if is_deep else "return out"
    return answer(page, text, "\n".join([*lines, end]))


# -- what takes a kernel of its own ----------------------------------------------------------

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
    found = layer(page)
    steps(page, 0, page.draw.choice((0, 1, 2)))
    text, lines = _product(page, found, page.take())
    body, shape = _fold(page)
    return _rows(page, text, lines, [*ROW, *body, "tl.store(out + row, v)"], shape)


def _fold(page: Page) -> tuple[list[str], str]:
    """One value for each row, steps on it, and other reductions of one value."""
    draw = page.draw
    words = {s.word: s for s in REDUCTIONS}
    word = draw.choice((*REDUCED, "log-sum-exp"))
    is_kept = draw.random() < 0.6
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
    text, lines = _product(page, found, page.take())
    word = draw.choice((*MAPPED, "softmax", "layer norm", "instance norm"))
    page.place, page.live = "column", "inside"
    if word == "layer norm":
        _layer_norm(page, found)
    elif word == "instance norm":
        _instance_norm(page, found)
    else:
        form = draw.choice(next(s for s in MAPS if s.word == word).forms)
        if form.startswith("nn."):
            form = f"{page.module(word.replace('-', '_'), form.format(d=1))}({{x}})"
        page.step(form.format(x=page.x, d=draw.choice(("1", "-1"))), word)
        page.lines += MAPPED[word]
    steps(page, 0, 2)
    body = page.take()
    if draw.random() < 0.2:
        more, shape = _fold(page)
        return _rows(page, text, lines, [*ROW, *body, *more, "tl.store(out + row, v)"], shape)
    store = "tl.store(out + row * n + column, v, mask=inside)"
    return _rows(page, text, lines, [*ROW, *body, store], "m, n")


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
        page.draw.choice(("norm", "ln", "layer_norm")), f"nn.LayerNorm({found.n.text})"
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
    steps(page, 0, draw.choice((0, 1, 2)))
    text, lines = _product(page, found, page.take())
    groups = "num_groups"
    page.numbers[groups] = (n := draw.choice((2, 4, 8)), n)
    page.arguments.append(groups)
    whole = f"num_groups={groups}, num_channels={found.n.text}"
    told = draw.choice((f"{groups}, {found.n.text}", whole))
    called = page.module(
        draw.choice(("norm", "gn", "group_norm", "groupnorm")), f"nn.GroupNorm({told})"
    )
    page.step(f"{called}({page.x})", "group norm")
    _weights(page, called)
    page.place, page.live = "c", "inside"
    steps(page, 0, 2)
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


def batch_normed(page: Page) -> str:
    """A layer, steps, and a batch norm as in training: the statistics of each column."""
    draw = page.draw
    found = layer(page)
    steps(page, 0, draw.choice((0, 1, 2)))
    text, lines = _product(page, found, page.take())
    told = draw.choice(("", "", ", eps=1e-3", ", momentum=0.2"))
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
    lines += [f"columns[(n,)](out, m, n{page.more}, {page.schedule.row('m')})", "return out"]
    return answer(page, text, "\n".join(lines))


def pooled(page: Page) -> str:
    """A layer, steps, neighbouring features pooled, steps, and perhaps one value for each row."""
    draw = page.draw
    found = layer(page)
    steps(page, 0, draw.choice((0, 0, 1)))
    text, lines = _product(page, found, page.take())
    name = draw.choice(("pool_kernel_size", "kernel_size", "pool_size"))
    page.numbers[name] = (n := draw.choice((2, 3, 4)), n)
    page.arguments.append(name)
    is_most = draw.random() < 0.5
    cls, word = ("nn.MaxPool1d", "max pool") if is_most else ("nn.AvgPool1d", "average pool")
    called = page.module(draw.choice(("pool", word.replace("average", "avg").replace(" ", "_"))),
                         f"{cls}({draw.choice((name, f'kernel_size={name}'))})")  # fmt: skip
    page.step(f"{called}({page.x}.unsqueeze(1)).squeeze(1)", f"{word} of features")
    page.place = ""
    start, fold = ('float("-inf")', "v = tl.maximum(v, w)") if is_most else ("0.0", "v = v + w")
    page.lines += [] if is_most else ["v = v / size"]
    steps(page, 0, 2, learned=False)
    body = page.take()
    ends = "tl.store(out + row * n + column, v, mask=inside)"
    shape = "m, n // size"
    if draw.random() < 0.5:
        more, shape = _fold(page)
        body, ends = [*body, *more], "tl.store(out + row, v)"
    names = ["x", "out", "n", "width", "size", *page.given]
    text += "\n\n" + head(*names, name="rows") + block([
        "row = tl.program_id(0)", "column = tl.arange(0, BLOCK)", "inside = column < n",
        f"v = tl.full([BLOCK], {start}, tl.float32)", "for j in range(0, size):",
        "    w = tl.load(x + row * width + column * size + j, mask=inside, other=0.0)",
        f"    {fold}",
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


FORMS: dict[str, Callable[[Page], str]] = {
    "linear": linear, "linear reduced": reduced, "linear mapped": mapped,
    "linear grouped": grouped, "linear batch norm": batch_normed, "linear pooled": pooled,
}  # fmt: skip
TWO_KERNELS = tuple(FORMS)[1:]
