"""Losses: values of each element or row of two tensors are added up."""

from __future__ import annotations

from kernelwright.suites.composed.lessons import axes
from kernelwright.suites.composed.lessons.flat import HEAD
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import blocks_of, looping
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head
from kernelwright.suites.composed.task_builder import Axis

SQUARE = ("d = v - t", "v = d * d")
SMOOTH = ("d = tl.abs(v - t)", "v = tl.where(d < 1.0, 0.5 * d * d, d - 0.5)")
SOFTPLUS = "tl.where(v > 0, v, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(v)))"
LOSSES = (
    (("torch.mean(({x} - {t}) ** 2)", "F.mse_loss({x}, {t}{r})", "(({x} - {t}) ** 2).mean()",
      "nn.MSELoss({r})"), "squared error", SQUARE),
    (("F.l1_loss({x}, {t}{r})", "torch.mean(torch.abs({x} - {t}))", "nn.L1Loss({r})"),
     "absolute error", ("v = tl.abs(v - t)",)),
    (("F.smooth_l1_loss({x}, {t}{r})", "torch.nn.functional.smooth_l1_loss({x}, {t}{r})",
      "F.huber_loss({x}, {t}{r})", "nn.SmoothL1Loss({r})", "nn.HuberLoss({r})"), "Huber loss",
     SMOOTH),
    (("F.huber_loss({x}, {t}, delta=0.7{r})", "nn.HuberLoss(delta=0.7)"), "Huber loss of width 0.7",
     ("d = tl.abs(v - t)", "v = tl.where(d < 0.7, 0.5 * d * d, 0.7 * (d - 0.35))")),
    (("torch.mean(torch.clamp(1 - {x} * {t}, min=0))", "F.relu(1 - {x} * {t}).mean()",
      "torch.clamp(1 - {t} * {x}, min=0).mean()", "torch.clamp(1 - {x} * {t}, min=0).sum()"),
     "hinge loss", ("v = 1.0 - v * t", "v = tl.where(v < 0.0, 0.0, v)")),
    (("torch.mean(torch.clamp(1 - {x} * {t}, min=0) ** 2)",), "squared hinge loss",
     ("v = 1.0 - v * t", "v = tl.where(v < 0.0, 0.0, v * v)")),
    (("torch.mean(torch.log(torch.cosh({x} - {t})))",), "log-cosh loss",
     ("d = tl.abs(v - t)", "v = d + tl.log(1.0 + tl.exp(-2.0 * d)) - 0.6931471805599453")),
    (("F.binary_cross_entropy_with_logits({x}, torch.sigmoid({t}){r})",), "binary cross entropy",
     (f"v = {SOFTPLUS} - v * tl.sigmoid(t)",)),
    (("F.soft_margin_loss({x}, {t}{r})", "torch.mean(torch.log(1 + torch.exp(-{x} * {t})))"),
     "soft margin loss", ("v = tl.log(1.0 + tl.exp(-v * t))",)),
    (("F.poisson_nll_loss({x}, {t}{r})", "torch.mean(torch.exp({x}) - {t} * {x})",
      "nn.PoissonNLLLoss({r})"), "Poisson loss", ("v = tl.exp(v) - t * v",)),
)  # fmt: skip
SHARE = ("v = t * (tl.log(t) - tl.log(v))",)
LOGARITHM = ("v = t * (tl.log(t) - v)",)
DIVERGENCES = (
    (("F.kl_div(torch.log({x}), {t}{r})", "torch.nn.functional.kl_div({x}.log(), {t}{r})",
      "{t}.mul(torch.log({t}) - torch.log({x})).sum()"), "", "", SHARE),
    (("F.kl_div({x}, {t}{r})", "nn.KLDivLoss({r})"), "torch.log_softmax({x}, dim=-1)", "",
     LOGARITHM),
    (("F.kl_div({x}, {t}{r}, log_target=True)", "nn.KLDivLoss({r}, log_target=True)"),
     "torch.log_softmax({x}, dim=-1)", "torch.log_softmax({x}, dim=-1)",
     ("v = tl.exp(t) * (t - v)",)),
    (("torch.sum({t} * (torch.log({t}) - torch.log({x})))",
      "({t} * ({t} / {x}).log()).sum()"), "", "", SHARE),
    (("F.kl_div(torch.log({x} + 1e-8), {t}{r})", "F.kl_div(({x} + 1e-8).log(), {t}{r})"), "", "",
     ("v = t * (tl.log(t) - tl.log(v + 1e-8))",)),
    (("F.kl_div(torch.log(0.5 * ({x} + {t})), {t}{r})",
      "F.kl_div((({x} + {t}) / 2).log(), {t}{r})"), "", "",
     ("v = t * (tl.log(t) - tl.log(0.5 * (v + t)))",)),
    (("F.kl_div(torch.log({x}), {t}{r}) + F.kl_div(torch.log({t}), {x}{r})",), "", "",
     ("v = (t - v) * (tl.log(t) - tl.log(v))",)),
    (("F.kl_div(torch.log({x}) / 2.0, {t}{r})", "F.kl_div(0.5 * {x}.log(), {t}{r})"), "", "",
     ("v = t * (tl.log(t) - 0.5 * tl.log(v))",)),
)  # fmt: skip
"""Kullback-Leibler divergences: the task, the functions applied to the first and to the second
input where it is drawn (besides a softmax), and the kernel."""
REDUCED = {"mean": " / n", "sum": "", "batchmean": " / x.shape[0]"}
TARGETS = (("predictions", "targets"), ("predictions", "targets"), ("x", "target"), ("pred", "y"),
           ("input", "target"), ("output", "labels"))  # fmt: skip


def loss(builder: LessonBuilder) -> str:
    """Write a loss with one number from two tensors; the sums of blocks are added at the end."""
    draw = builder.draw
    shape = tuple(builder.lengths(axes.BATCHES, axes.WIDTHS))
    x, t = draw.choice(TARGETS)
    forms, word, lines = draw.choice(LOSSES)
    builder.start(shape, name=x)
    is_sign = "margin" in word or "hinge" in word
    is_row = is_sign and draw.random() < 0.5
    how = (
        "torch.randint(0, 2, ({shape}{comma})).float() * 2 - 1"
        if is_sign
        else draw.choice(("torch.rand({shape})", "torch.randn({shape})"))
    )
    target = (shape[1],) if is_row else shape
    builder.input(t, target, how.replace("{comma}", "," if is_row else ""))
    builder.place = ""
    steps(builder, 0, draw.choice((0, 1, 1)), learned=False)
    end = _reduced(builder, draw.choice(forms), ("mean", "mean", "sum"), t, word)
    before = builder.take()
    after = draw.choice(("", "", "", " * 0.5", " * 2.0"))
    if after:
        builder.step(f"{builder.x}{after}", "scaling")
    names = ["x", "target", "parts", "n", *builder.given, *["width"] * is_row]
    kernel = head(*names) + block(
        [
            *HEAD,
            "v = tl.load(x + at, mask=inside, other=0.0)",
            f"t = tl.load(target + at{' % width' * is_row}, mask=inside, other=0.0)",
            *before,
            *lines,
            "tl.store(parts + tl.program_id(0), tl.sum(tl.where(inside, v, 0.0), 0))",
        ]
    )
    return _by_blocks(builder, kernel, t, f"{end}{after}", ", x.shape[1]" * is_row)


def _reduced(
    builder: LessonBuilder, form: str, kinds: tuple[str, ...], target: str, word: str
) -> str:
    """Write the loss with one of these reductions; return what the answer does to the sum."""
    kind = builder.draw.choice(kinds) if "{r}" in form else "sum" if ".sum" in form else "mean"
    reduction = f"reduction='{kind}'" if kind != "mean" or builder.draw.random() < 0.3 else ""
    if form.startswith("nn."):
        module = form.replace("{r}, log", reduction + ", " * bool(reduction) + "log").replace(
            "{r}", reduction
        )
        form = f"{builder.module(builder.draw.choice(('loss', 'loss_fn')), module)}({{x}}, {{t}})"
    reduction = f", {reduction}" if reduction else ""
    builder.step(form.format(x=builder.x, t=target, r=reduction), word)
    return REDUCED[kind]


def divergence(builder: LessonBuilder) -> str:
    """Write the Kullback-Leibler divergence of rows that add up to one."""
    draw = builder.draw
    shape = tuple(builder.lengths(axes.BATCHES, axes.WIDTHS))
    x, t = draw.choice((*TARGETS, ("p", "q"), ("student", "teacher")))
    forms, first, second, lines = draw.choice((DIVERGENCES[0], *DIVERGENCES))
    drawn = draw.choice(("torch.rand({shape})", "torch.randn({shape})"))
    share = draw.choice(("torch.softmax({x}, dim=-1)", "({x}).softmax(dim=-1)"))
    builder.start(shape, name=x, how=(first or share).format(x=drawn))
    builder.input(t, shape, (second or share).format(x=drawn))
    builder.place = ""
    end = _reduced(
        builder, draw.choice(forms), ("batchmean", "batchmean", "sum"), t, "KL divergence"
    )
    after = draw.choice(("", "", " * 0.5", " * 2.0", " * 4.0", " / 3.0"))
    if after:
        builder.step(f"{builder.x}{after}", "scaling")
    kernel = head("x", "target", "parts", "n") + block(
        [
            *HEAD,
            "v = tl.load(x + at, mask=inside, other=1.0)",
            "t = tl.load(target + at, mask=inside, other=1.0)",
            *lines,
            "tl.store(parts + tl.program_id(0), tl.sum(tl.where(inside, v, 0.0), 0))",
        ]
    )
    return _by_blocks(builder, kernel, t, f"{end}{after}", "")


def _by_blocks(builder: LessonBuilder, kernel: str, target: str, end: str, more: str) -> str:
    """Return the answer whose kernel has a program for each block of both inputs; their sums are
    added."""
    return answer(
        builder,
        kernel,
        f"""x, target = {builder.first}.contiguous(), {target}.contiguous()
n = x.numel()
count = triton.cdiv(n, ELEMENTS)
parts = x.new_empty(count)
kernel[(count,)](x, target, parts, n{builder.more}{more}, {blocks_of("ELEMENTS")})
return parts.sum(){end}""",
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


def row_loss(builder: LessonBuilder) -> str:
    """Write a number for each row of two tensors, or the mean of these numbers."""
    draw = builder.draw
    shape = tuple(builder.lengths(axes.BATCHES, axes.WIDTHS))
    x, t = draw.choice((*TARGETS, ("anchor", "positive"), ("a", "b")))
    forms, word, lines, end = draw.choice(ROW_LOSSES)
    is_share = word.startswith("KL")
    how = "torch.rand({shape}).softmax(dim=-1)" if is_share else ""
    builder.start(shape, name=x, how=how)
    builder.input(t, shape, how or "torch.randn({shape})")
    builder.step(draw.choice(forms).format(x=builder.x, t=t), word)
    is_mean = draw.random() < 0.5
    builder.place = ""
    steps(builder, 0, 2, learned=False)
    if is_mean:
        builder.step(
            f"{builder.x}.mean()" if draw.random() < 0.5 else f"torch.mean({builder.x})", "mean"
        )
    after = builder.take()
    kernel = head("x", "target", "out", "length", *builder.given) + block(
        [
            "row = tl.program_id(0)",
            "total = tl.full([BLOCK], 0.0, tl.float32)",
            "for start in range(0, length, BLOCK):",
        ]
    )
    kernel += block(
        [
            "at = start + tl.arange(0, BLOCK)",
            "inside = at < length",
            "v = tl.load(x + row * length + at, mask=inside, other=1.0)",
            "t = tl.load(target + row * length + at, mask=inside, other=1.0)",
            *lines,
            "total += tl.where(inside, v, 0.0)",
        ],
        2,
    )
    kernel += block(["total = tl.sum(total, 0)", f"v = {end}", *after, "tl.store(out + row, v)"])
    return _by_rows(builder, kernel, t, ".mean()" if is_mean else "")


def cross_entropy(builder: LessonBuilder) -> str:
    """Write the cross entropy of rows of scores and a class for each."""
    draw = builder.draw
    rows, classes = builder.lengths(axes.BATCHES, (("num_classes", "classes", "C"), (10, 20, 33)))
    shape = (rows, classes)
    if draw.random() < 0.3:
        builder.tuples["input_shape"] = f"({classes.text},)"
        shape = (rows, Axis("*input_shape", classes.n))
    x, t = draw.choice((("predictions", "targets"), ("logits", "labels"), ("x", "target")))
    builder.start(shape, name=x)
    builder.inputs[t] = f"torch.randint(0, {classes.text}, ({rows.text},))"
    builder.place = ""
    steps(builder, 0, draw.choice((0, 1, 1)), learned=False)
    before = builder.take()
    reduction = draw.choice(("", "", ", reduction='none'", ", reduction='sum'"))
    form = draw.choice(
        (
            "F.cross_entropy({x}, {t}{r})",
            "torch.nn.functional.cross_entropy({x}, {t}{r})",
            "F.nll_loss(F.log_softmax({x}, dim=-1), {t}{r})",
            "nn.CrossEntropyLoss({r})",
            "-F.log_softmax({x}, dim=1).gather(1, {t}.unsqueeze(1)).squeeze(1)",
            "torch.logsumexp({x}, dim=1) - {x}.gather(1, {t}[:, None])[:, 0]",
        )
    )
    if "gather" in form and reduction:
        form = f"torch.{reduction[13:-1]}({form})" if reduction[13:-1] in ("sum", "mean") else form
    elif "gather" in form:
        form = f"torch.mean({form})"
    if form.startswith("nn."):
        form = f"{builder.module('loss_fn', form.format(r=reduction[2:]))}({{x}}, {{t}})"
    builder.step(form.format(x=builder.x, t=t, r=reduction), "cross entropy")
    end = {"": ".mean()", ", reduction='none'": "", ", reduction='sum'": ".sum()"}[reduction]
    after = draw.choice(("", "", " * 0.5", " * 2.0"))
    if after:
        builder.step(f"{builder.x}{after}", "scaling")
    kernel = _cross_entropy_kernel(before, list(builder.given))
    return _by_rows(builder, kernel, t, f"{end}{after}")


def _cross_entropy_kernel(before: list[str], arguments: list[str]) -> str:
    """Return the kernel: one sweep for the maximum and the label's score, one for the sum."""
    lines = [
        "at = start + tl.arange(0, BLOCK)",
        "inside = at < length",
        "v = tl.load(x + row * length + at, mask=inside, other=0.0)",
        *before,
    ]
    loop = "for start in range(0, length, BLOCK):"
    kernel = head("x", "target", "out", "length", *arguments)
    kernel += block(
        [
            "row = tl.program_id(0)",
            "label = tl.load(target + row)",
            'top = tl.full([BLOCK], float("-inf"), tl.float32)',
            "chosen = tl.full([BLOCK], 0.0, tl.float32)",
            loop,
        ]
    )
    kernel += block(
        [
            *lines,
            'top = tl.maximum(top, tl.where(inside, v, float("-inf")))',
            "chosen += tl.where(at == label, v, 0.0)",
        ],
        2,
    )
    kernel += block(["top = tl.max(top, 0)", "total = tl.full([BLOCK], 0.0, tl.float32)", loop])
    kernel += block([*lines, "total += tl.where(inside, tl.exp(v - top), 0.0)"], 2)
    kernel += block(
        ["v = top + tl.log(tl.sum(total, 0)) - tl.sum(chosen, 0)", "tl.store(out + row, v)"]
    )
    return kernel


def _by_rows(builder: LessonBuilder, kernel: str, target: str, end: str) -> str:
    """Return the answer whose kernel has a program for each row of the first input and the
    target."""
    return answer(
        builder,
        kernel,
        f"""x, target = {builder.first}.contiguous(), {target}.contiguous()
rows, length = x.shape
out = x.new_empty(rows)
kernel[(rows,)](x, target, out, length{builder.more}, {looping("length")})
return out{end}""",
    )
