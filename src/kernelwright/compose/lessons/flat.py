"""Forms over all elements, each on its own, and losses, which add up what is found for each."""

from __future__ import annotations

from kernelwright.compose.draft import Shape
from kernelwright.compose.lessons import axes
from kernelwright.compose.lessons.page import Page, block
from kernelwright.compose.lessons.steps import steps
from kernelwright.compose.lessons.writing import answer, head

OTHERS = (
    ("{x} + {y}", "sum with an argument", "v = v + w"),
    ("torch.add({x}, {y})", "sum with an argument", "v = v + w"),
    ("{x} * {y}", "product with an argument", "v = v * w"),
    ("{x} - {y}", "difference from an argument", "v = v - w"),
    ("{x} * torch.sigmoid({y})", "gate", "v = v * tl.sigmoid(w)"),
    ("F.silu({y}) * {x}", "swish gate", "v = v * w * tl.sigmoid(w)"),
    ("torch.maximum({x}, {y})", "maximum with an argument", "v = tl.maximum(v, w)"),
    ("torch.minimum({x}, {y})", "minimum with an argument", "v = tl.minimum(v, w)"),
    ("torch.where({y} > 0, {x}, 0.1 * {x})", "choice by an argument",
     "v = tl.where(w > 0, v, 0.1 * v)"),
    ("{x} / (1.0 + {y}.abs())", "division by an argument", "v = v / (1.0 + tl.abs(w))"),
)  # fmt: skip
CHANNELS = (("channels", "num_features", "features", "C", "in_channels"), (4, 6, 8))
LINE = "v = tl.load(x + at, mask=inside)"
HEAD = ("at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "inside = at < n")


def pointwise(page: Page) -> str:
    """A chain of operators, learned vectors and a further argument."""
    draw = page.draw
    page.start(_shape(page))
    n_others = 0
    for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 4))):
        if draw.random() < 0.2 and not n_others:
            _other(page)
            n_others += 1
        else:
            steps(page, 1, 1)
    if not page.lines:
        _other(page)
    if any("% width" in line for line in page.lines):
        page.given["width"] = "x.shape[-1]"
    if any("% channels" in line for line in page.lines):
        page.given |= {"channels": "x.shape[1]", "inner": "x.stride(1)"}
    return _written(page)


def _shape(page: Page) -> Shape:
    """Of two to four axes; learned vectors run along the last, or the channels of an image."""
    kind = page.draw.choice("rrsi")
    if kind == "i":
        page.place, page.feature = "at // inner % channels", 1
        return tuple(page.lengths(axes.BATCHES, CHANNELS, axes.EDGES, axes.WIDTHS))
    page.place = "at % width"
    rest = (axes.WIDTHS,) if kind == "r" else (axes.LENGTHS, axes.WIDTHS)
    return tuple(page.lengths(axes.BATCHES, *rest))


def _other(page: Page) -> None:
    """A further argument of the same shape."""
    expression, word, line = page.draw.choice(OTHERS)
    shape = page.shape
    name = page.input(page.draw.choice(("y", "other", "b", "residual", "z")), shape)
    page.step(expression.format(x=page.x, y=name), word)
    page.lines += [f"w = tl.load({name} + at, mask=inside)", line]


def _written(page: Page) -> str:
    others = [name for name in page.inputs if name != page.first]
    names = ["x", *others, *page.given]
    kernel = head(*names, "out", "n") + block(
        [*HEAD, LINE, *page.take(), "tl.store(out + at, v, mask=inside)"]
    )
    given = ", ".join(["x", *others, *page.given.values(), "out", "n"])
    lines = [f"x = {page.first}.contiguous()", *(f"{o} = {o}.contiguous()" for o in others)]
    lines += ["out = torch.empty_like(x)", "n = x.numel()"]
    each = page.schedule.block
    lines += [f"kernel[(triton.cdiv(n, {each}),)]({given}, {page.schedule.of(each)})", "return out"]
    return answer(page, kernel, "\n".join(lines))


SPREAD = (
    ("{a}.unsqueeze(1) {o} {b}", "a vector along the rows", "{a} + at // width", "rows"),
    ("{a}[:, None] {o} {b}", "a vector along the rows", "{a} + at // width", "rows"),
    ("{b} {o} {a}.unsqueeze(-1)", "a vector along the rows", "{a} + at // width", "rows"),
    ("{b} {o} {a}", "a vector along the columns", "{a} + at % width", "columns"),
    ("{a}.unsqueeze(0) {o} {b}", "a vector along the columns", "{a} + at % width", "columns"),
    ("torch.diag({a}) @ {b}", "a diagonal matrix from the left", "{a} + at // width", "rows"),
    ("{b} @ torch.diag({a})", "a diagonal matrix from the right", "{a} + at % width", "columns"),
    ("{b} * {a}.view(-1, 1)", "a vector along the rows", "{a} + at // width", "rows"),
)  # fmt: skip


def spread(page: Page) -> str:
    """A vector with a matrix: diagonal matrices, and what is broadcast."""
    draw = page.draw
    rows, columns = page.lengths((("N", "n", "rows", "batch_size"), (9, 16, 24)),
                                 (("M", "m", "columns", "dim"), (20, 32, 33)))  # fmt: skip
    a, b = draw.choice((("A", "B"), ("a", "b"), ("d", "x"), ("weights", "x"), ("scale", "x")))
    expression, word, read, along = draw.choice(SPREAD)
    vector, matrix = (rows,) if along == "rows" else (columns,), (rows, columns)
    for name, shape in draw.choice((((a, vector), (b, matrix)), ((b, matrix), (a, vector)))):
        page.input(name, shape, draw.choice(("torch.rand({shape})", "torch.randn({shape})")))
    page.x, page.shape, page.place = b, matrix, ""
    sign = draw.choice("*+-")
    is_first = expression.startswith("{a}")
    page.step(expression.format(a=a, b=b, o=sign), word)
    sign = "*" if "@" in expression or "view" in expression else sign
    steps(page, 0, 2)
    after = page.take()
    kernel = head("x", "d", "out", "n", "width", *page.given) + block([
        *HEAD, LINE, f"w = tl.load({read.format(a='d')}, mask=inside)",
        f"v = w {sign} v" if is_first else f"v = v {sign} w", *after,
        "tl.store(out + at, v, mask=inside)",
    ])  # fmt: skip
    each = page.schedule.block
    return answer(
        page,
        kernel,
        f"""x, d = {b}.contiguous(), {a}.contiguous()
out = torch.empty_like(x)
n = x.numel()
kernel[(triton.cdiv(n, {each}),)](x, d, out, n, x.shape[1]{page.more}, {page.schedule.of(each)})
return out""",
    )


# -- losses ----------------------------------------------------------------------------------

SQUARE = ("d = v - t", "v = d * d")
SMOOTH = ("d = tl.abs(v - t)", "v = tl.where(d < 1.0, 0.5 * d * d, d - 0.5)")
LOSSES = (
    (("torch.mean(({x} - {t}) ** 2)", "F.mse_loss({x}, {t})", "(({x} - {t}) ** 2).mean()",
      "nn.MSELoss()"), "squared error", SQUARE),
    (("F.l1_loss({x}, {t})", "torch.mean(torch.abs({x} - {t}))", "nn.L1Loss()"),
     "absolute error", ("v = tl.abs(v - t)",)),
    (("F.smooth_l1_loss({x}, {t})", "torch.nn.functional.smooth_l1_loss({x}, {t})",
      "F.huber_loss({x}, {t})", "nn.SmoothL1Loss()", "nn.HuberLoss()"), "Huber loss", SMOOTH),
    (("F.huber_loss({x}, {t}, delta=0.7)", "nn.HuberLoss(delta=0.7)"), "Huber loss of width 0.7",
     ("d = tl.abs(v - t)", "v = tl.where(d < 0.7, 0.5 * d * d, 0.7 * (d - 0.35))")),
    (("torch.mean(torch.clamp(1 - {x} * {t}, min=0))", "F.relu(1 - {x} * {t}).mean()",
      "torch.clamp(1 - {t} * {x}, min=0).mean()"), "hinge loss",
     ("v = 1.0 - v * t", "v = tl.where(v < 0.0, 0.0, v)")),
    (("torch.mean(torch.clamp(1 - {x} * {t}, min=0) ** 2)",), "squared hinge loss",
     ("v = 1.0 - v * t", "v = tl.where(v < 0.0, 0.0, v * v)")),
    (("torch.mean(torch.log(torch.cosh({x} - {t})))",), "log-cosh loss",
     ("d = tl.abs(v - t)", "v = d + tl.log(1.0 + tl.exp(-2.0 * d)) - 0.6931471805599453")),
    (("F.binary_cross_entropy_with_logits({x}, torch.sigmoid({t}))",), "binary cross entropy",
     ("v = tl.where(v > 0, v, 0.0) - v * tl.sigmoid(t) + tl.log(1.0 + tl.exp(-tl.abs(v)))",)),
    (("F.soft_margin_loss({x}, {t})", "torch.mean(torch.log(1 + torch.exp(-{x} * {t})))"),
     "soft margin loss", ("v = tl.log(1.0 + tl.exp(-v * t))",)),
)  # fmt: skip
TARGETS = (("predictions", "targets"), ("predictions", "targets"), ("x", "target"), ("pred", "y"),
           ("input", "target"), ("output", "labels"))  # fmt: skip


def loss(page: Page) -> str:
    """One number from two tensors; the sums of blocks are added at the end."""
    draw = page.draw
    shape = tuple(page.lengths(axes.BATCHES, axes.WIDTHS))
    x, t = draw.choice(TARGETS)
    forms, word, lines = draw.choice(LOSSES)
    page.start(shape, name=x)
    is_sign = "margin" in word or "hinge" in word
    is_row = is_sign and draw.random() < 0.5
    how = "torch.randint(0, 2, ({shape}{comma})).float() * 2 - 1" if is_sign else draw.choice(
        ("torch.rand({shape})", "torch.randn({shape})"))  # fmt: skip
    target = (shape[1],) if is_row else shape
    page.input(t, target, how.replace("{comma}", "," if is_row else ""))
    page.place = ""
    steps(page, 0, draw.choice((0, 1, 1)), learned=False)
    form = draw.choice(forms)
    if form.startswith("nn."):
        form = f"{page.module('loss', form)}({{x}}, {{t}})"
    page.step(form.format(x=page.x, t=t), word)
    before = page.take()
    after = draw.choice(("", "", "", " * 0.5", " * 2.0"))
    if after:
        page.step(f"{page.x}{after}", "scaling")
    names = ["x", "target", "parts", "n", *page.given, *["width"] * is_row]
    kernel = head(*names) + block([
        *HEAD, "v = tl.load(x + at, mask=inside, other=0.0)",
        f"t = tl.load(target + at{' % width' * is_row}, mask=inside, other=0.0)", *before,
        *lines, "tl.store(parts + tl.program_id(0), tl.sum(tl.where(inside, v, 0.0), 0))",
    ])  # fmt: skip
    width, each = ", x.shape[1]" * is_row, page.schedule.block
    return answer(
        page,
        kernel,
        f"""x, target = {x}.contiguous(), {t}.contiguous()
n = x.numel()
count = triton.cdiv(n, {each})
parts = x.new_empty(count)
kernel[(count,)](x, target, parts, n{page.more}{width}, {page.schedule.of(each)})
return parts.sum() / n{after}""",
    )


ROW_LOSSES = (
    (("(({x} - {t}) ** 2).mean(dim=-1)", "torch.mean(({x} - {t}) ** 2, dim=1)"),
     "squared error of rows",
     SQUARE, "total / length"),
    (("torch.sum(torch.abs({x} - {t}), dim=1)",), "absolute error of rows",
     ("v = tl.abs(v - t)",), "total"),
    (("torch.norm({x} - {t}, dim=1)", "F.pairwise_distance({x}, {t}, eps=0.0)"), "distance of rows",
     SQUARE, "tl.sqrt(total)"),
    (("torch.sum({x} * {t}, dim=1)", "({x} * {t}).sum(dim=-1)"), "products of rows",
     ("v = v * t",), "total"),
    (("torch.sum({t} * (torch.log({t}) - torch.log({x})), dim=-1)",
      "F.kl_div(torch.log({x}), {t}, reduction='none').sum(dim=-1)"), "KL divergence of rows",
     ("v = t * (tl.log(t) - tl.log(v))",), "total"),
)  # fmt: skip


def row_loss(page: Page) -> str:
    """A number for each row of two tensors, or the mean of these."""
    draw = page.draw
    shape = tuple(page.lengths(axes.BATCHES, axes.WIDTHS))
    x, t = draw.choice((*TARGETS, ("anchor", "positive"), ("a", "b")))
    forms, word, lines, end = draw.choice(ROW_LOSSES)
    is_share = word.startswith("KL")
    how = "torch.rand({shape}).softmax(dim=-1)" if is_share else ""
    page.start(shape, name=x, how=how)
    page.input(t, shape, how or "torch.randn({shape})")
    page.step(draw.choice(forms).format(x=page.x, t=t), word)
    is_mean = draw.random() < 0.5
    page.place = ""
    steps(page, 0, 2, learned=False)
    if is_mean:
        page.step(f"{page.x}.mean()" if draw.random() < 0.5 else f"torch.mean({page.x})", "mean")
    after = page.take()
    kernel = head("x", "target", "out", "length", *page.given) + block([
        "row = tl.program_id(0)", "total = tl.full([BLOCK], 0.0, tl.float32)",
        "for start in range(0, length, BLOCK):",
    ])  # fmt: skip
    kernel += block([
        "at = start + tl.arange(0, BLOCK)", "inside = at < length",
        "v = tl.load(x + row * length + at, mask=inside, other=1.0)",
        "t = tl.load(target + row * length + at, mask=inside, other=1.0)", *lines,
        "total += tl.where(inside, v, 0.0)",
    ], 2)  # fmt: skip
    kernel += block(["total = tl.sum(total, 0)", f"v = {end}", *after, "tl.store(out + row, v)"])
    return _by_rows(page, kernel, t, ".mean()" if is_mean else "")


def cross_entropy(page: Page) -> str:
    """Of rows of scores and a class for each."""
    draw = page.draw
    rows, classes = page.lengths(axes.BATCHES, (("num_classes", "classes", "C"), (10, 20, 33)))
    x, t = draw.choice((("predictions", "targets"), ("logits", "labels"), ("x", "target")))
    page.start((rows, classes), name=x)
    page.inputs[t] = f"torch.randint(0, {classes.text}, ({rows.text},))"
    page.place = ""
    steps(page, 0, draw.choice((0, 1, 1)), learned=False)
    before = page.take()
    told = draw.choice(("", "", ", reduction='none'", ", reduction='sum'"))
    form = draw.choice((
        "F.cross_entropy({x}, {t}{r})", "torch.nn.functional.cross_entropy({x}, {t}{r})",
        "F.nll_loss(F.log_softmax({x}, dim=-1), {t}{r})", "nn.CrossEntropyLoss({r})",
    ))  # fmt: skip
    if form.startswith("nn."):
        form = f"{page.module('loss_fn', form.format(r=told[2:]))}({{x}}, {{t}})"
    page.step(form.format(x=page.x, t=t, r=told), "cross entropy")
    end = {"": ".mean()", ", reduction='none'": "", ", reduction='sum'": ".sum()"}[told]
    after = draw.choice(("", "", " * 0.5", " * 2.0"))
    if after:
        page.step(f"{page.x}{after}", "scaling")
    lines = ["at = start + tl.arange(0, BLOCK)", "inside = at < length",
             "v = tl.load(x + row * length + at, mask=inside, other=0.0)", *before]  # fmt: skip
    loop = "for start in range(0, length, BLOCK):"
    kernel = head("x", "target", "out", "length", *page.given)
    kernel += block(["row = tl.program_id(0)", "label = tl.load(target + row)",
                     'top = tl.full([BLOCK], float("-inf"), tl.float32)',
                     "chosen = tl.full([BLOCK], 0.0, tl.float32)", loop])  # fmt: skip
    kernel += block([*lines, 'top = tl.maximum(top, tl.where(inside, v, float("-inf")))',
                     "chosen += tl.where(at == label, v, 0.0)"], 2)  # fmt: skip
    kernel += block(["top = tl.max(top, 0)", "total = tl.full([BLOCK], 0.0, tl.float32)", loop])
    kernel += block([*lines, "total += tl.where(inside, tl.exp(v - top), 0.0)"], 2)
    kernel += block(["v = top + tl.log(tl.sum(total, 0)) - tl.sum(chosen, 0)",
                     "tl.store(out + row, v)"])  # fmt: skip
    return _by_rows(page, kernel, t, f"{end}{after}")


def _by_rows(page: Page, kernel: str, target: str, end: str) -> str:
    """The answer whose kernel has a program for each row of the first input and the target."""
    return answer(
        page,
        kernel,
        f"""x, target = {page.first}.contiguous(), {target}.contiguous()
rows, length = x.shape
out = x.new_empty(rows)
kernel[(rows,)](x, target, out, length{page.more}, {page.schedule.of(page.schedule.block)})
return out{end}""",
    )
