"""Attention: two products with a softmax between, in one kernel that stores no scores."""

from __future__ import annotations

from dataclasses import replace

from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import TERMS
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head
from kernelwright.suites.composed.task_builder import Shape

BATCH, HEADS = ("batch_size", "batch", "B"), ("num_heads", "heads", "n_heads")
LENGTHS = ("sequence_length", "seq_len", "length", "T")
WIDTHS = ("embedding_dimension", "head_dim", "dim", "d_k")
NAMES = (("Q", "K", "V"), ("q", "k", "v"), ("query", "key", "value"))
SCORES = ("torch.matmul({q}, {k}.transpose(-2, -1))", "{q} @ {k}.transpose(-2, -1)", "{q} @ {k}.mT")
SCALED = (
    "{s} / math.sqrt({q}.size(-1))",
    "{s} * {q}.shape[-1] ** -0.5",
    "{s} / ({q}.shape[-1] ** 0.5)",
)
CALLS = (
    "F.scaled_dot_product_attention({q}, {k}, {v}{c})",
    "torch.nn.functional.scaled_dot_product_attention({q}, {k}, {v}{c})",
)
SOFTMAX = ("torch.softmax({s}, dim=-1)", "F.softmax({s}, dim=-1)", "{s}.softmax(dim=-1)")
SUMS = (
    "z = tl.program_id(1)",
    "row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]",
    "column = tl.arange(0, WIDTH)[None, :]",
    "at = (z * length + row) * width + column",
    "inside = (row < length) & (column < width)",
    "left = tl.load(q + at, mask=inside, other=0.0)",
    'top = tl.full([BLOCK, 1], float("-inf"), tl.float32)',
    "total = tl.zeros([BLOCK, 1], tl.float32)",
    "v = tl.zeros([BLOCK, WIDTH], tl.float32)",
)
PART = (
    "i = start + tl.arange(0, TERMS)[:, None]",
    "j = start + tl.arange(0, TERMS)[None, :]",
    "live = (i < keys) & (column < width)",
    "place = (z * keys + i) * width + column",
    "right = tl.load(k + place, mask=live, other=0.0)",
    "s = tl.dot(left, tl.trans(right), input_precision=PRECISION) * factor",
    's = tl.where({kept}, s, float("-inf"))',
    "most = tl.maximum(top, tl.max(s, 1)[:, None])",
    "p, old = tl.exp(s - most), tl.exp(top - most)",
    "total = total * old + tl.sum(p, 1)[:, None]",
    "values = tl.load(u + place, mask=live, other=0.0)",
    "v = v * old + tl.dot(p, values, input_precision=PRECISION)",
    "top = most",
)


def attention(builder: LessonBuilder) -> str:
    """Write attention over queries, keys and values of three or four axes, causal or not."""
    draw = builder.draw
    shape = _shape(builder)
    q, k, v = draw.choice(NAMES)
    how = draw.choice(("torch.rand({shape})", "torch.randn({shape})"))
    builder.start(shape, name=q, how=how)
    for name in (k, v):
        builder.input(name, shape, how)
    builder.place = ""
    scale, kept = _said(builder, q, k, v)
    builder.is_positive = False
    steps(builder, 0, draw.choice((0, 1, 1, 2)), learned=False)
    names = ["u", "out", "length", "keys", "width", *builder.given, "factor", "WIDTH: tl.constexpr"]
    part = "\n".join(PART).replace("{kept}", kept)
    text = head("q", "k", *names, *TERMS) + block([*SUMS, "for start in range(0, keys, TERMS):"])
    text += block(part.split("\n"), 2)
    text += block(["v = v / total", *builder.take(), "tl.store(out + at, v, mask=inside)"])
    builder.schedule = replace(builder.schedule, tile_m=min(builder.schedule.tile_m, 64), terms=32)
    given = "".join(f"{value}, " for value in builder.given.values())
    given += f"{scale}, triton.next_power_of_2(max(width, 16))"
    end = "TERMS, PRECISION, BLOCK=TILE_M, num_warps=4"
    return answer(
        builder,
        text,
        f"""q, k, u = {q}.contiguous(), {k}.contiguous(), {v}.contiguous()
length, width = q.shape[-2:]
keys = k.shape[-2]
out = torch.empty_like(q)
grid = (triton.cdiv(length, TILE_M), q.numel() // (length * width))
kernel[grid](q, k, u, out, length, keys, width, {given}, {end})
return out""",
    )


def _shape(builder: LessonBuilder) -> Shape:
    """Return three or four axes. A program holds the whole last axis; all scores fit the memory of
    a GPU."""
    few, lengths, widths = (2, 3), (17, 24, 33), (16, 20, 23)
    if builder.is_large:
        few, lengths, widths = (4, 8), builder.sizes.tokens, (32, 64)
    axes = [(BATCH, few), (HEADS, few), (LENGTHS, lengths), (WIDTHS, widths)]
    if builder.draw.random() < 0.4:
        axes.pop(1)
    return tuple(builder.lengths(axis)[0] for axis in axes)


def _said(builder: LessonBuilder, q: str, k: str, v: str) -> tuple[str, str]:
    """Write the task's forward as a call or as its parts. Return the factor of the scores in the
    answer, and the condition under which the kernel uses a score."""
    draw = builder.draw
    is_causal = draw.random() < 0.4
    kept = "(j < keys) & (j <= row)" if is_causal else "j < keys"
    scale = "width ** -0.5"
    if draw.random() < 0.3:
        call = draw.choice(CALLS).format(q=q, k=k, v=v, c=", is_causal=True" * is_causal)
        builder.step(call, "attention")
        return scale, kept
    scores = draw.choice(SCORES).format(q=q, k=k)
    kind = draw.random()
    if kind < 0.25:
        name = builder.number(
            draw.choice(("scale", "softmax_scale")), draw.choice((0.25, 0.125, 0.5))
        )
        scores, scale = f"({scores}) * self.{name}", f"self.{name}"
    elif kind < 0.9:
        scores = draw.choice(SCALED).format(s=f"({scores})", q=q)
    else:
        scale = "1.0"
    lines = [f"scores = {scores}"]
    if is_causal:
        lines += [
            f"mask = torch.ones({q}.size(-2), {k}.size(-2), device={q}.device).tril()",
            'scores = scores.masked_fill(mask == 0, float("-inf"))',
        ]
    lines.append(f"weights = {draw.choice(SOFTMAX).format(s='scores')}")
    builder.forward += lines
    builder.words += ["scores of queries and keys"]
    builder.step(
        draw.choice(("torch.matmul({w}, {v})", "{w} @ {v}")).format(w="weights", v=v),
        "their mean of the values",
    )
    return scale, kept
