"""Forms of images, volumes and signals: their norms, and reductions of each plane."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.suites.composed.lessons import axes
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import blocks_of, looping
from kernelwright.suites.composed.lessons.statistics import CENTRED, KEEP, REDUCTIONS
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.sweeps import CHANNEL, ROW, Sweeps
from kernelwright.suites.composed.lessons.writing import answer, head

CHANNELS = (("channels", "num_features", "features", "C", "in_channels"), (4, 8))
EDGES = (("height", "dim1", "H"), (4, 5, 8))
WIDTHS = (("width", "dim2", "W"), (5, 6, 9))
LENGTHS = (("length", "seq_len", "L"), (10, 17))
DEPTHS = (("depth", "D", "dim3"), (3, 4))
NORMAL = "v = (v - mean) / tl.sqrt(var / length + eps)"


def begin(builder: LessonBuilder, n_axes: int) -> None:
    """Begin with a batch of signals, images or volumes."""
    rest = {3: (LENGTHS,), 4: (EDGES, WIDTHS), 5: (DEPTHS, EDGES, WIDTHS)}[n_axes]
    builder.start(tuple(builder.lengths((axes.BATCHES[0], (2, 3)), CHANNELS, *rest)), feature=1)


def image_norm(builder: LessonBuilder) -> str:
    """Write a group, instance or layer norm; values that are normalised together are contiguous."""
    draw = builder.draw
    kind = draw.choice(("group", "instance", "layer", "batch", "batch"))
    n_axes = draw.choice((3, 4, 4, 4)) if kind != "layer" else draw.choice((3, 4, 4))
    begin(builder, n_axes)
    builder.place = ""
    steps(builder, 0, draw.choice((0, 0, 1)), learned=False)
    before = builder.take()
    norms = {"group": _group, "instance": _instance, "layer": _layer, "batch": _batch}
    called, lines = norms[kind](builder, n_axes)
    builder.step(f"{called}({builder.x})", f"{kind} norm")
    sweeps = Sweeps(CHANNEL if kind == "batch" else ROW, before)
    builder.given["eps"] = f"{called}.eps"
    reads = [NORMAL]
    if kind != "instance":
        builder.given |= {"gamma": f"{called}.weight", "beta": f"{called}.bias"}
        reads += {
            "group": [
                "c = row % groups * (length // inner) + at // inner",
                _weighted("c", "inside"),
            ],
            "layer": [_weighted("at", "inside")],
            "batch": [_weighted("c", "")],
        }[kind]
    steps(builder, 0, 2, learned=False)
    sweeps.find(CENTRED)
    sweeps.write(*reads, *builder.take())
    names = {"group": ["length", "inner", "groups"], "batch": ["length", "inner", "channels"]}.get(
        kind, ["length"]
    )
    n_programs = {"group": "x.shape[0] * groups", "batch": "channels"}.get(
        kind, "x.numel() // length"
    )
    kernel = head("x", "out", *builder.given, *names) + sweeps.text()
    lines = [f"x = {builder.first}.contiguous()", "out = torch.empty_like(x)", *lines]
    lines += [
        f"kernel[({n_programs},)](x, out{builder.more}, {', '.join(names)}, {looping('length')})",
        "return out",
    ]
    return answer(builder, kernel, "\n".join(lines))


def _weighted(place: str, mask: str) -> str:
    arguments = f", mask={mask}" if mask else ""
    return f"v = v * tl.load(gamma + {place}{arguments}) + tl.load(beta + {place}{arguments})"


def _group(builder: LessonBuilder, n_axes: int) -> tuple[str, list[str]]:
    channels = builder.argument(builder.shape[1])
    builder.numbers["num_groups"] = (n := builder.draw.choice((2, 4)), n)
    builder.arguments.append("num_groups")
    whole = f"num_groups=num_groups, num_channels={channels}"
    arguments = builder.draw.choice((f"num_groups, {channels}", whole)) + builder.small()
    called = builder.module(
        builder.draw.choice(("norm", "gn", "group_norm")), f"nn.GroupNorm({arguments})"
    )
    return called, [
        f"groups, inner = {called}.num_groups, x.stride(1)",
        "length = x.shape[1] // groups * inner",
    ]


def _instance(builder: LessonBuilder, n_axes: int) -> tuple[str, list[str]]:
    called = _of_channels(builder, f"InstanceNorm{n_axes - 2}d", ("norm", "inorm", "instance_norm"))
    return called, ["length = x.stride(1)"]


def _of_channels(builder: LessonBuilder, kind: str, names: Sequence[str]) -> str:
    channels = builder.argument(builder.shape[1])
    arguments = builder.draw.choice((channels, f"num_features={channels}")) + builder.small()
    return builder.module(builder.draw.choice(names), f"nn.{kind}({arguments})")


def _batch(builder: LessonBuilder, n_axes: int) -> tuple[str, list[str]]:
    called = _of_channels(builder, f"BatchNorm{n_axes - 2}d", ("norm", "bn", "batch_norm"))
    return called, ["channels, inner = x.shape[1], x.stride(1)", "length = x.numel() // channels"]


def _layer(builder: LessonBuilder, n_axes: int) -> tuple[str, list[str]]:
    named = [builder.argument(axis) for axis in builder.shape[builder.draw.choice((1, 1, 2)) :]]
    text = f"({', '.join(named)},)" if len(named) == 1 else f"({', '.join(named)})"
    if builder.draw.random() < 0.5:
        for name in named:
            builder.arguments.remove(name)
        builder.tuples["normalized_shape"] = text
        if builder.draw.random() < 0.4:
            builder.plain.add("normalized_shape")
        builder.arguments.append("normalized_shape")
        text = "normalized_shape"
    arguments = builder.draw.choice((text, f"normalized_shape={text}"))
    name = builder.draw.choice(("norm", "ln", "layer_norm"))
    called = builder.module(name, f"nn.LayerNorm({arguments})")
    return called, [f"length = {called}.weight.numel()"]


def plane(builder: LessonBuilder) -> str:
    """Write a reduction to one value for each channel, over all axes after it."""
    draw = builder.draw
    n_axes = draw.choice((4, 4, 5))
    begin(builder, n_axes)
    builder.place = ""
    steps(builder, 0, 1, learned=False)
    before = builder.take()
    found = draw.choice([s for s in REDUCTIONS if s.word != "range"])
    dims = "(2, 3)" if n_axes == 4 else "(2, 3, 4)"
    is_kept = draw.random() < 0.5
    forms = [f for f in found.forms if "[0]" not in f and "values" not in f]
    if found.word == "mean" and is_kept and n_axes == 4 and draw.random() < 0.5:
        arguments = draw.choice(("1", "(1, 1)"))
        builder.step(
            f"{builder.module('pool', f'nn.AdaptiveAvgPool2d({arguments})')}({builder.x})",
            "global mean",
        )
    else:
        builder.step(
            draw.choice(forms).format(x=builder.x, d=dims, k=KEEP * is_kept),
            f"{found.word} of planes",
        )
    steps(builder, 0, 2, learned=False)
    sweeps = Sweeps(ROW, before)
    sweeps.find(found.found)
    sweeps.lines += [found.last, *builder.take(), ROW.result]
    kernel = head("x", "out", *builder.given, "length") + sweeps.text()
    ones = f" + {'(1, 1)' if n_axes == 4 else '(1, 1, 1)'}" if is_kept else ""
    return answer(
        builder,
        kernel,
        f"""x = {builder.first}.contiguous()
length = x.stride(1)
out = x.new_empty(x.shape[:2]{ones})
kernel[(x.numel() // length,)](x, out{builder.more}, length, {looping("length")})
return out""",
    )


WHOLE = (
    (("{x} / torch.norm({x}, p='fro')", "{x} / torch.norm({x})", "{x} / {x}.norm()",
      "{x} / torch.sqrt(torch.sum({x} ** 2))"), "Frobenius norm 1", "v * v", "v / tl.sqrt(w)"),
    (("{x} / torch.sum(torch.abs({x}))", "{x} / {x}.abs().sum()"), "sum 1", "tl.abs(v)", "v / w"),
    (("{x} - torch.mean({x})", "{x} - {x}.mean()"), "centred", "v", "v - w / n"),
    (("{x} / torch.sqrt(torch.mean({x} ** 2) + 1e-6)",), "RMS 1", "v * v",
     "v / tl.sqrt(w / n + 1e-6)"),
    (("{x} / torch.mean(torch.abs({x}))",), "mean 1", "tl.abs(v)", "v / (w / n)"),
)  # fmt: skip


def whole_norm(builder: LessonBuilder) -> str:
    """Write a norm by a statistic of the whole tensor: the sums of blocks are added, then all is
    read again."""
    draw = builder.draw
    begin(builder, draw.choice((3, 4, 4)))
    builder.place = ""
    steps(builder, 0, draw.choice((0, 0, 1)), learned=False)
    before = builder.take()
    forms, word, each, last = draw.choice(WHOLE)
    builder.part(draw.choice(forms).format(x=builder.x), word, draw.choice(("norm", "denominator")))
    names_first, more_first = [*builder.given], builder.more
    steps(builder, 0, 2, learned=False)
    lines = [
        "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "inside = at < n",
        "v = tl.load(x + at, mask=inside, other=0.0)",
        *before,
    ]
    text = head("x", "parts", "n", *names_first, name="sums") + block(
        [*lines, f"tl.store(parts + tl.program_id(0), tl.sum(tl.where(inside, {each}, 0.0), 0))"]
    )
    text += (
        "\n\n"
        + head("x", "total", "out", "n", *builder.given)
        + block(
            [
                *lines,
                "w = tl.load(total)",
                f"v = {last}",
                *builder.take(),
                "tl.store(out + at, v, mask=inside)",
            ]
        )
    )
    return answer(
        builder,
        text,
        f"""x = {builder.first}.contiguous()
n = x.numel()
count = triton.cdiv(n, ELEMENTS)
parts = x.new_empty(count)
sums[(count,)](x, parts, n{more_first}, {blocks_of("ELEMENTS")})
out = torch.empty_like(x)
kernel[(count,)](x, parts.sum(), out, n{builder.more}, {blocks_of("ELEMENTS")})
return out""",
    )
