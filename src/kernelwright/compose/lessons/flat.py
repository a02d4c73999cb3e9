"""Kernels over all elements: pointwise chains, and losses."""

from __future__ import annotations

from kernelwright.compose import shapes
from kernelwright.compose.lessons.sheet import Sheet, block, head

OTHERS = (
    ("x + {y}", "sum with an argument", "v = v + w"),
    ("x * {y}", "product with an argument", "v = v * w"),
    ("x - {y}", "difference from an argument", "v = v - w"),
    ("x * torch.sigmoid({y})", "gate", "v = v * tl.sigmoid(w)"),
    (
        "torch.where({y} > 0, x, 0.1 * x)", "choice by an argument",
        "v = tl.where(w > 0, v, 0.1 * v)",
    ),
)  # fmt: skip
LEARNED = (("bias", "+", "bias"), ("scale", "*", "learned scale"), ("shift", "-", "learned shift"))
LOSSES = (
    ("torch.mean((x - target) ** 2)", "squared error", ("d = v - t", "v = d * d")),
    ("F.mse_loss(x, target)", "squared error", ("d = v - t", "v = d * d")),
    ("F.l1_loss(x, target)", "absolute error", ("v = tl.abs(v - t)",)),
    (
        "F.smooth_l1_loss(x, target)", "smooth absolute error",
        ("d = tl.abs(v - t)", "v = tl.where(d < 1.0, 0.5 * d * d, d - 0.5)"),
    ),
    (
        "F.huber_loss(x, target, delta=0.7)", "Huber loss",
        ("d = tl.abs(v - t)", "v = tl.where(d < 0.7, 0.5 * d * d, 0.7 * (d - 0.35))"),
    ),
    (
        "torch.mean(torch.clamp(1 - x * target, min=0))", "hinge loss",
        ("v = 1.0 - v * t", "v = tl.where(v < 0.0, 0.0, v)"),
    ),
)  # fmt: skip


def pointwise(sheet: Sheet) -> str:
    """A chain of operators, learned vectors and a further argument."""
    draft, draw = sheet.draft, sheet.draw
    make, feature = draw.choice(((shapes.rows, -1), (shapes.sequence, -1), (shapes.image, 1)))
    sheet.begin(make(draft), feature=feature)
    others: list[str] = []
    for _ in range(draw.choice((1, 2, 3))):
        kind = draw.random()
        if kind < 0.2 and not others:
            others.append(_other(sheet))
        elif kind < 0.4:
            _learned(sheet, feature)
        sheet.steps(0 if kind < 0.4 else 1, 1)
    inputs = ["x", *others]
    names, values = list(sheet.given), list(sheet.given.values())
    kernel = head(*inputs, *names, "out", "n")
    kernel += block([
        "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "inside = at < n",
        "v = tl.load(x + at, mask=inside)", *sheet.take(), "tl.store(out + at, v, mask=inside)",
    ])  # fmt: skip
    forward = [f"{name} = {name}.contiguous()" for name in inputs]
    given = ", ".join([*inputs, *values, "out", "n"])
    forward += ["out = torch.empty_like(x)", "n = x.numel()"]
    forward += [f"kernel[(triton.cdiv(n, 1024),)]({given}, BLOCK=1024)", "return out"]
    return sheet.file(kernel, "\n".join(forward))


def _other(sheet: Sheet) -> str:
    expression, word, line = sheet.draw.choice(OTHERS)
    name = sheet.draft.input("y", sheet.draft.shape)
    sheet.draft.step(expression.format(y=name), word)
    sheet.lines += [f"w = tl.load({name} + at, mask=inside)", line]
    return name


def _learned(sheet: Sheet, feature: int) -> None:
    """A vector along the features: the last axis, or the channels of an image."""
    name, sign, word = sheet.draw.choice(LEARNED)
    called = sheet.draft.vector(name)
    sheet.draft.step(f"x {sign} {called}", word)
    name = called.removeprefix("self.")
    sheet.given[name] = called
    if feature == 1:
        sheet.given |= {"inner": "x.shape[2] * x.shape[3]", "channels": "x.shape[1]"}
        place = "at // inner % channels"
    else:
        sheet.given["width"] = "x.shape[-1]"
        place = "at % width"
    sheet.lines += [f"w = tl.load({name} + {place}, mask=inside)", f"v = v {sign} w"]


def loss(sheet: Sheet) -> str:
    """One number from two tensors; the sums of blocks are added at the end."""
    draft = sheet.draft
    sheet.begin(shapes.rows(draft))
    target = draft.input("target", draft.shape)
    sheet.steps(0, 1)
    expression, word, lines = sheet.draw.choice(LOSSES)
    draft.step(expression, word)
    kernel = head("x", target, "parts", "n") + block([
        "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "inside = at < n",
        "v = tl.load(x + at, mask=inside, other=0.0)",
        f"t = tl.load({target} + at, mask=inside, other=0.0)", *sheet.take(), *lines,
        "tl.store(parts + tl.program_id(0), tl.sum(tl.where(inside, v, 0.0), 0))",
    ])  # fmt: skip
    forward = f"""x, {target} = x.contiguous(), {target}.contiguous()
n = x.numel()
count = triton.cdiv(n, 4096)
parts = torch.empty(count, device=x.device, dtype=x.dtype)
kernel[(count,)](x, {target}, parts, n, BLOCK=4096)
return parts.sum() / n"""
    return sheet.file(kernel, forward)
