"""Forms over one axis of a tensor: reductions, indices, softmaxes and norms, running sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import blocks_of, looping, whole_row
from kernelwright.suites.composed.lessons.statistics import (
    KEEP,
    MAPS,
    PRODUCT,
    REDUCTIONS,
    Statistic,
)
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.sweeps import COLUMN, ROW, Sweeps, Way
from kernelwright.suites.composed.lessons.writing import answer, head
from kernelwright.suites.composed.task_builder import Axis

BATCHES = (("batch_size", "batch", "N", "B", "rows"), (2, 3, 4, 5))
LENGTHS = (("dim1", "seq_len", "length", "channels", "features", "H"), (9, 16, 17, 24))
WIDTHS = (("dim2", "dim", "d_model", "hidden_size", "width", "W"), (20, 31, 32, 40))
EDGES = (("dim3", "height", "size", "depth"), (3, 4, 5))


EPSILON = "1e-5"


@dataclass(frozen=True)
class Along:
    """The axis that a task works along, as the task and as the answer write it."""

    way: Way
    n_axes: int
    axis: int
    in_task: str
    """Its text in the task's forward: a number, or a value that the constructor was given."""
    in_answer: str
    """Its text in the answer's forward; never negative unless it is the last axis."""

    @property
    def sizes(self) -> list[str]:
        """Return the forward's lines that find the lengths."""
        if self.way is ROW:
            return ["length = x.shape[-1]"]
        return [
            f"length, width = x.shape[{self.in_answer}], x.stride({self.in_answer})",
            "batch = x.numel() // (length * width)",
        ]

    def less(self, *, is_kept: bool) -> str:
        """Return the shape without the axis."""
        one = " + (1,)" if is_kept else ""
        if self.way is ROW:
            return f"x.shape[:-1]{one}"
        return f"x.shape[:{self.in_answer}]{one} + x.shape[{self._next}:]"

    @property
    def _next(self) -> str:
        return f"{self.in_answer} + 1" if self.in_answer.startswith("self") else str(self.axis + 1)

    def launch(self, given: str, *, is_at_once: bool = False) -> str:
        """Return the forward's launch; rows are processed block by block, or whole."""
        if self.way is ROW:
            end = whole_row("length") if is_at_once else looping("length")
            return f"kernel[(x.numel() // length,)](x, {given}length, {end})"
        grid = "(batch, triton.cdiv(width, COLUMNS))"
        return f"kernel[{grid}](x, {given}length, width, {blocks_of('COLUMNS')})"


def start(builder: LessonBuilder, *, may_be_given: bool = True) -> Along:
    """Begin with a tensor of two to four axes, and draw one of them."""
    draw = builder.draw
    n_axes = draw.choice((2, 2, 2, 3, 3, 4))
    axes = [BATCHES, LENGTHS, EDGES, WIDTHS] if n_axes == 4 else [BATCHES, LENGTHS, WIDTHS]
    if n_axes == 2:
        axes = [BATCHES, WIDTHS]
    shape = tuple(builder.lengths(*axes))
    axis = draw.choice((0, 1, 1, 1, n_axes - 1)) if n_axes == 2 else draw.choice((1, 1, n_axes - 1))
    if draw.random() < 0.25 and not builder.is_large:
        shape = (shape[0], *_tupled(builder, shape[1:]))
    builder.start(shape)
    is_last = axis == n_axes - 1
    in_task = in_answer = str(axis)
    if may_be_given and draw.random() < 0.45:
        name = "dim" if "dim" not in builder.numbers else "axis"
        builder.numbers[name] = (axis, axis)
        builder.arguments.append(name)
        builder.init.append(f"self.{name} = {name}")
        if draw.random() < 0.4:
            builder.defaults[name] = str(axis)
        if draw.random() < 0.3:
            builder.plain.add(name)
        in_task = in_answer = f"self.{name}"
    elif draw.random() < 0.35:
        in_task = str(axis - n_axes)
    builder.place, builder.live = (
        ("at", "inside") if is_last else ("r" if axis == 1 else "", "r < length")
    )
    builder.feature, builder.way = axis, "rows" if is_last else "columns"
    if builder.tuples:
        builder.place = ""
    return Along(ROW if is_last else COLUMN, n_axes, axis, in_task, in_answer)


def _tupled(builder: LessonBuilder, shape: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return the axes as one tuple, which the task unpacks where it draws them."""
    text = ", ".join(str(builder.numbers.pop(axis.text)[0]) for axis in shape)
    builder.tuples["input_shape"] = f"({text},)"
    first = Axis("*input_shape", shape[0].n)
    return (first, *(Axis("", axis.n) for axis in shape[1:]))


def reduction(builder: LessonBuilder) -> str:
    """Write a reduction to one value for each row or column."""
    along = start(builder)
    steps(builder, 0, 2, learned=False)
    before = builder.take()
    table = REDUCTIONS if along.way is ROW else (*REDUCTIONS, PRODUCT)
    chosen = builder.draw.choice((*table[:4], *table))
    is_kept = builder.draw.random() < 0.4
    _say(builder, chosen, along, KEEP * is_kept)
    builder.place = ""
    steps(builder, 0, 1 if before else 2, learned=False)
    sweeps = Sweeps(along.way, before)
    sweeps.find(chosen.found)
    sweeps.lines += [chosen.last, *builder.take(), along.way.result]
    return _written(builder, along, sweeps, f"x.new_empty({along.less(is_kept=is_kept)})")


def mapping(builder: LessonBuilder) -> str:
    """Write a softmax or a norm."""
    along = start(builder)
    steps(builder, 0, builder.draw.choice((0, 1, 2)), learned=along.axis == along.n_axes - 1)
    before = builder.take()
    chosen = builder.draw.choice((*MAPS[:2], *MAPS))
    if EPSILON in chosen.last and builder.draw.random() < 0.6:
        chosen = _with_epsilon(builder, chosen)
    _say(builder, chosen, along)
    steps(builder, 0, 1 if before else 2)
    sweeps = Sweeps(along.way, before)
    sweeps.find(chosen.found)
    sweeps.write(chosen.last, *builder.take())
    return _written(builder, along, sweeps, "torch.empty_like(x)")


def _with_epsilon(builder: LessonBuilder, chosen: Statistic) -> Statistic:
    """Return the statistic with the small number (epsilon) given to the constructor, and perhaps
    also an argument that it does not need: the number of features."""
    name = builder.draw.choice(("eps", "eps", "epsilon"))
    if builder.shape[builder.feature].text in builder.numbers and builder.draw.random() < 0.5:
        features = builder.argument(builder.shape[builder.feature])
        builder.init.append(f"self.{features} = {features}")
    builder.arguments.append(name)
    builder.init.append(f"self.{name} = {name}")
    builder.defaults[name] = builder.draw.choice((EPSILON, "1e-6", "1e-3"))
    builder.defaulted.add(name)
    builder.given[name] = f"self.{name}"
    forms = tuple(form.replace(EPSILON, f"self.{name}") for form in chosen.forms)
    return replace(chosen, forms=forms, last=chosen.last.replace(EPSILON, name))


def index(builder: LessonBuilder) -> str:
    """Write the position of the greatest or smallest value."""
    along = start(builder)
    steps(builder, 0, 2, learned=False)
    before = builder.take()
    is_most, is_kept = builder.draw.random() < 0.5, builder.draw.random() < 0.3
    word = "argmax" if is_most else "argmin"
    forms = (
        f"torch.{word}({{x}}, dim={{d}}{{k}})",
        f"{{x}}.{word}(dim={{d}}{{k}})",
        f"torch.{word[3:]}({{x}}, dim={{d}}{{k}})[1]",
        f"torch.{word[3:]}({{x}}, dim={{d}}{{k}}).indices",
    )
    _say(builder, Statistic(f"index of the {word[3:]}imum", forms, (), ""), along, KEEP * is_kept)
    start_, sign = ('float("-inf")', ">") if is_most else ('float("inf")', "<")
    sweeps, way = Sweeps(along.way, before), along.way
    sweeps.lines += [
        f"best = tl.full([BLOCK], {start_}, tl.float32)",
        "place = tl.zeros([BLOCK], tl.int32)",
    ]
    is_better = f"better = v {sign} best" if way is COLUMN else f"better = inside & (v {sign} best)"
    sweeps.sweep(
        is_better,
        "best = tl.where(better, v, best)",
        f"place = tl.where(better, {way.number}, place)",
    )
    if way is ROW:
        most = "tl.max" if is_most else "tl.min"
        sweeps.lines.append(f"v = tl.min(tl.where(best == {most}(best, 0), place, length), 0)")
    else:
        sweeps.lines.append("v = place")
    sweeps.lines.append(way.result)
    made = f"x.new_empty({along.less(is_kept=is_kept)}, dtype=torch.int64)"
    return _written(builder, along, sweeps, made)


NAMED = {"RMS norm": "rms", "less the maximum": "largest", "centred": "mean",
         "product with the mean": "mean"}  # fmt: skip
"""Statistic → its usual name, for the one that x is combined with."""


def _say(builder: LessonBuilder, chosen: Statistic, along: Along, kept: str = "") -> None:
    form = builder.draw.choice(chosen.forms)
    if form.startswith("nn."):
        dimension = along.in_task.removeprefix("self.")
        called = builder.module(chosen.word.replace("-", "_"), form.format(d=dimension))
        return builder.step(f"{called}({builder.x})", chosen.word)
    name = NAMED.get(chosen.word, "norm")
    return builder.part(form.format(x=builder.x, d=along.in_task, k=kept), chosen.word, name)


def _written(builder: LessonBuilder, along: Along, sweeps: Sweeps, made: str) -> str:
    names = ["out", *builder.given]
    lengths = ["length"] if along.way is ROW else ["length", "width"]
    kernel = head("x", *names, *lengths) + sweeps.text()
    given = "".join(f"{value}, " for value in ["out", *builder.given.values()])
    lines = [f"x = {builder.first}.contiguous()", *along.sizes, f"out = {made}"]
    lines += [along.launch(given), "return out"]
    return answer(builder, kernel, "\n".join(lines))


# -- running sums ----------------------------------------------------------------------------

SCANS = {
    "running sum": ("torch.cumsum({x}, dim={d})", "{x}.cumsum(dim={d})"),
    "running sum of the others before": (
        "torch.cumsum({x}, dim={d}) - {x}",
        "{x}.cumsum({d}) - {x}",
        "torch.cat((torch.zeros_like({x}.narrow({d}, 0, 1)), "
        "torch.cumsum({x}, dim={d}).narrow({d}, 0, {x}.size({d}) - 1)), dim={d})",
    ),
    "running sum from the end": (
        "torch.cumsum({x}.flip({d}), dim={d}).flip({d})",
        "torch.cumsum({x}.flip(dims=[{d}]), dim={d}).flip(dims=[{d}])",
        "torch.flip(torch.cumsum(torch.flip({x}, [{d}]), dim={d}), [{d}])",
        "{x}.flip({d}).cumsum(dim={d}).flip({d})",
    ),
    "running sum of what is masked": (
        "torch.cumsum({x} * mask, dim={d})", "({x} * mask).cumsum(dim={d})",
        "torch.cumsum({x}.masked_fill(~mask, 0.0), dim={d})",
    ),
    "running product": ("torch.cumprod({x}, dim={d})", "{x}.cumprod(dim={d})"),
    "running mean": (
        "torch.cumsum({x}, dim={d}) / torch.arange(1, {x}.shape[{d}] + 1)"
        ".to({x}.device)",
    ),
}  # fmt: skip


def scan(builder: LessonBuilder) -> str:
    """Write a running sum or product."""
    along = start(builder)
    draw = builder.draw
    words = [w for w in SCANS if not (w == "running mean" and along.way is COLUMN)]
    word = draw.choice((*words, *words[1:4]))
    if "masked" in word:
        shape = ", ".join(axis.text for axis in builder.shape if axis.text)
        builder.inputs["mask"] = f"torch.randint(0, 2, ({shape})).bool()"
    steps(builder, 0, draw.choice((0, 1)), learned=False)
    before = builder.take()
    if "product" in word:
        builder.step(f"1.0 + 0.01 * {builder.x}", "near 1")
        before.append("v = 1.0 + 0.01 * v")
    expression = draw.choice(SCANS[word]).format(x=builder.x, d=along.in_task)
    builder.step(expression, word)
    steps(builder, 0, 1 if before else 2, learned=False)
    after = builder.take()
    body = _row_scan if along.way is ROW else _column_scan
    text = block(body(word, before, after))
    has_mask = "mask" in builder.inputs
    names = ["mask"] * has_mask + ["out", *builder.given]
    lengths = ["length"] if along.way is ROW else ["length", "width"]
    given = "".join(
        f"{value}, " for value in ["mask"] * has_mask + ["out", *builder.given.values()]
    )
    lines = [f"x = {builder.first}.contiguous()"] + ["mask = mask.contiguous()"] * has_mask
    lines += [*along.sizes, "out = torch.empty_like(x)"]
    launch = along.launch(given, is_at_once=True)
    kernel = head("x", *names, *lengths) + text
    return answer(builder, kernel, "\n".join([*lines, launch, "return out"]))


def _row_scan(word: str, before: list[str], after: list[str]) -> list[str]:
    """Return the kernel of a scan that holds a row at once."""
    i = "row * length + length - 1 - at" if "end" in word else "row * length + at"
    lines = ["row = tl.program_id(0)", "at = tl.arange(0, BLOCK)", "inside = at < length"]
    lines += [f"v = tl.load(x + {i}, mask=inside, other=0.0)", *before]
    if "masked" in word:
        lines += [f"keep = tl.load(mask + {i}, mask=inside, other=0)", "v = tl.where(keep, v, 0.0)"]
    if "product" in word:
        lines.append("v = tl.cumprod(v, 0)")
    elif "before" in word:
        lines.append("v = tl.cumsum(v, 0) - v")
    else:
        lines.append("v = tl.cumsum(v, 0)")
    if "mean" in word:
        lines.append("v = v / (at + 1)")
    return [*lines, *after, f"tl.store(out + {i}, v, mask=inside)"]


def _column_scan(word: str, before: list[str], after: list[str]) -> list[str]:
    """Return the kernel of a scan over neighbouring columns, one element after the other."""
    r = "length - 1 - r" if "end" in word else "r"
    lines = [
        *COLUMN.head,
        f"total = tl.full([BLOCK], {1.0 if 'product' in word else 0.0}, tl.float32)",
        COLUMN.loop,
    ]
    inner = [f"i = (batch * length + {r}) * width + column"]
    inner += ["v = tl.load(x + i, mask=inside, other=0.0)", *before]
    if "masked" in word:
        inner += ["keep = tl.load(mask + i, mask=inside, other=0)", "v = tl.where(keep, v, 0.0)"]
    if "before" in word:
        inner += ["old = total", "total += v", "v = old"]
    else:
        inner += ["total *= v" if "product" in word else "total += v", "v = total"]
    inner += [*after, "tl.store(out + i, v, mask=inside)"]
    return [*lines, *(f"    {line}" for line in inner)]
