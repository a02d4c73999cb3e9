"""Forms over one axis of a tensor: reductions, indices, softmaxes and norms, running sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelwright.suites.composed.draft import Axis
from kernelwright.suites.composed.lessons.page import Page, block
from kernelwright.suites.composed.lessons.schedule import Schedule
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

BATCHES = (("batch_size", "batch", "N", "B", "rows"), (2, 3, 4, 5))
LENGTHS = (("dim1", "seq_len", "length", "channels", "features", "H"), (9, 16, 17, 24))
WIDTHS = (("dim2", "dim", "d_model", "hidden_size", "width", "W"), (20, 31, 32, 40))
EDGES = (("dim3", "height", "size", "depth"), (3, 4, 5))


EPSILON = "1e-5"


@dataclass(frozen=True)
class Along:
    """The axis that a task goes along: as the task and as the answer write it."""

    way: Way
    n_axes: int
    axis: int
    told: str
    """In the task's forward: a number, or what the constructor was given."""
    written: str
    """In the answer's forward; never negative unless it is the last axis."""

    @property
    def sizes(self) -> list[str]:
        """Lines of the forward that find the lengths."""
        if self.way is ROW:
            return ["length = x.shape[-1]"]
        return [
            f"length, width = x.shape[{self.written}], x.stride({self.written})",
            "batch = x.numel() // (length * width)",
        ]

    def less(self, *, is_kept: bool) -> str:
        """The shape without the axis."""
        one = " + (1,)" if is_kept else ""
        if self.way is ROW:
            return f"x.shape[:-1]{one}"
        return f"x.shape[:{self.written}]{one} + x.shape[{self._next}:]"

    @property
    def _next(self) -> str:
        return f"{self.written} + 1" if self.written.startswith("self") else str(self.axis + 1)

    def launch(self, schedule: Schedule, given: str, *, is_at_once: bool = False) -> str:
        """The forward's call; of rows a part at a time, or the whole."""
        if self.way is ROW:
            end = schedule.row("length") if is_at_once else schedule.along("length")
            return f"kernel[(x.numel() // length,)](x, {given}length, {end})"
        each = schedule.columns
        grid = f"(batch, triton.cdiv(width, {each}))"
        return f"kernel[{grid}](x, {given}length, width, {schedule.of(each)})"


def start(page: Page, *, may_be_given: bool = True) -> Along:
    """A tensor of two to four axes, and one of them."""
    draw = page.draw
    n_axes = draw.choice((2, 2, 2, 3, 3, 4))
    axes = [BATCHES, LENGTHS, EDGES, WIDTHS] if n_axes == 4 else [BATCHES, LENGTHS, WIDTHS]
    if n_axes == 2:
        axes = [BATCHES, WIDTHS]
    shape = tuple(page.lengths(*axes))
    axis = draw.choice((0, 1, 1, 1, n_axes - 1)) if n_axes == 2 else draw.choice((1, 1, n_axes - 1))
    if draw.random() < 0.25 and not page.is_large:
        shape = (shape[0], *_tupled(page, shape[1:]))
    page.start(shape)
    is_last = axis == n_axes - 1
    told = written = str(axis)
    if may_be_given and draw.random() < 0.45:
        name = "dim" if "dim" not in page.numbers else "axis"
        page.numbers[name] = (axis, axis)
        page.arguments.append(name)
        page.init.append(f"self.{name} = {name}")
        if draw.random() < 0.4:
            page.defaults[name] = str(axis)
        if draw.random() < 0.3:
            page.plain.add(name)
        told = written = f"self.{name}"
    elif draw.random() < 0.35:
        told = str(axis - n_axes)
    page.place, page.live = (
        ("at", "inside") if is_last else ("r" if axis == 1 else "", "r < length")
    )
    page.feature, page.way = axis, "rows" if is_last else "columns"
    if page.tuples:
        page.place = ""
    return Along(ROW if is_last else COLUMN, n_axes, axis, told, written)


def _tupled(page: Page, shape: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes as one tuple, which the task takes apart where it draws them."""
    text = ", ".join(str(page.numbers.pop(axis.text)[0]) for axis in shape)
    page.tuples["input_shape"] = f"({text},)"
    first = Axis("*input_shape", shape[0].n)
    return (first, *(Axis("", axis.n) for axis in shape[1:]))


def reduction(page: Page) -> str:
    """One value for each row or column."""
    along = start(page)
    steps(page, 0, 2, learned=False)
    before = page.take()
    table = REDUCTIONS if along.way is ROW else (*REDUCTIONS, PRODUCT)
    chosen = page.draw.choice((*table[:4], *table))
    is_kept = page.draw.random() < 0.4
    _say(page, chosen, along, KEEP * is_kept)
    page.place = ""
    steps(page, 0, 1 if before else 2, learned=False)
    sweeps = Sweeps(along.way, before)
    sweeps.find(chosen.found)
    sweeps.lines += [chosen.last, *page.take(), along.way.result]
    return _written(page, along, sweeps, f"x.new_empty({along.less(is_kept=is_kept)})")


def mapping(page: Page) -> str:
    """A softmax or a norm."""
    along = start(page)
    steps(page, 0, page.draw.choice((0, 1, 2)), learned=along.axis == along.n_axes - 1)
    before = page.take()
    chosen = page.draw.choice((*MAPS[:2], *MAPS))
    if EPSILON in chosen.last and page.draw.random() < 0.6:
        chosen = _with_epsilon(page, chosen)
    _say(page, chosen, along)
    steps(page, 0, 1 if before else 2)
    sweeps = Sweeps(along.way, before)
    sweeps.find(chosen.found)
    sweeps.write(chosen.last, *page.take())
    return _written(page, along, sweeps, "torch.empty_like(x)")


def _with_epsilon(page: Page, chosen: Statistic) -> Statistic:
    """The same, but the constructor is given the small number, and perhaps what it does not need:
    how many features there are."""
    name = page.draw.choice(("eps", "eps", "epsilon"))
    if page.shape[page.feature].text in page.numbers and page.draw.random() < 0.5:
        features = page.argument(page.shape[page.feature])
        page.init.append(f"self.{features} = {features}")
    page.arguments.append(name)
    page.init.append(f"self.{name} = {name}")
    page.defaults[name] = page.draw.choice((EPSILON, "1e-6", "1e-3"))
    page.untold.add(name)
    page.given[name] = f"self.{name}"
    forms = tuple(form.replace(EPSILON, f"self.{name}") for form in chosen.forms)
    return replace(chosen, forms=forms, last=chosen.last.replace(EPSILON, name))


def index(page: Page) -> str:
    """Where the greatest or smallest is."""
    along = start(page)
    steps(page, 0, 2, learned=False)
    before = page.take()
    is_most, is_kept = page.draw.random() < 0.5, page.draw.random() < 0.3
    word = "argmax" if is_most else "argmin"
    forms = (f"torch.{word}({{x}}, dim={{d}}{{k}})", f"{{x}}.{word}(dim={{d}}{{k}})",
             f"torch.{word[3:]}({{x}}, dim={{d}}{{k}})[1]",
             f"torch.{word[3:]}({{x}}, dim={{d}}{{k}}).indices")  # fmt: skip
    _say(page, Statistic(f"index of the {word[3:]}imum", forms, (), ""), along, KEEP * is_kept)
    start_, sign = ('float("-inf")', ">") if is_most else ('float("inf")', "<")
    sweeps, way = Sweeps(along.way, before), along.way
    sweeps.lines += [
        f"best = tl.full([BLOCK], {start_}, tl.float32)", "place = tl.zeros([BLOCK], tl.int32)",
    ]  # fmt: skip
    is_better = f"better = v {sign} best" if way is COLUMN else f"better = inside & (v {sign} best)"
    sweeps.sweep(
        is_better, "best = tl.where(better, v, best)",
        f"place = tl.where(better, {way.number}, place)",
    )  # fmt: skip
    if way is ROW:
        most = "tl.max" if is_most else "tl.min"
        sweeps.lines.append(f"v = tl.min(tl.where(best == {most}(best, 0), place, length), 0)")
    else:
        sweeps.lines.append("v = place")
    sweeps.lines.append(way.result)
    made = f"x.new_empty({along.less(is_kept=is_kept)}, dtype=torch.int64)"
    return _written(page, along, sweeps, made)


NAMED = {"RMS norm": "rms", "less the maximum": "largest", "centred": "mean",
         "product with the mean": "mean"}  # fmt: skip
"""What people call what x is put together with."""


def _say(page: Page, chosen: Statistic, along: Along, kept: str = "") -> None:
    form = page.draw.choice(chosen.forms)
    if form.startswith("nn."):
        told = along.told.removeprefix("self.")
        called = page.module(chosen.word.replace("-", "_"), form.format(d=told))
        return page.step(f"{called}({page.x})", chosen.word)
    name = NAMED.get(chosen.word, "norm")
    return page.part(form.format(x=page.x, d=along.told, k=kept), chosen.word, name)


def _written(page: Page, along: Along, sweeps: Sweeps, made: str) -> str:
    names = ["out", *page.given]
    lengths = ["length"] if along.way is ROW else ["length", "width"]
    kernel = head("x", *names, *lengths) + sweeps.text()
    given = "".join(f"{value}, " for value in ["out", *page.given.values()])
    lines = [f"x = {page.first}.contiguous()", *along.sizes, f"out = {made}"]
    lines += [along.launch(page.schedule, given), "return out"]
    return answer(page, kernel, "\n".join(lines))


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


def scan(page: Page) -> str:
    """A running sum or product."""
    along = start(page)
    draw = page.draw
    words = [w for w in SCANS if not (w == "running mean" and along.way is COLUMN)]
    word = draw.choice((*words, *words[1:4]))
    if "masked" in word:
        shape = ", ".join(axis.text for axis in page.shape if axis.text)
        page.inputs["mask"] = f"torch.randint(0, 2, ({shape})).bool()"
    steps(page, 0, draw.choice((0, 1)), learned=False)
    before = page.take()
    if "product" in word:
        page.step(f"1.0 + 0.01 * {page.x}", "near 1")
        before.append("v = 1.0 + 0.01 * v")
    expression = draw.choice(SCANS[word]).format(x=page.x, d=along.told)
    page.step(expression, word)
    steps(page, 0, 1 if before else 2, learned=False)
    after = page.take()
    body = _row_scan if along.way is ROW else _column_scan
    text = block(body(word, before, after))
    has_mask = "mask" in page.inputs
    names = ["mask"] * has_mask + ["out", *page.given]
    lengths = ["length"] if along.way is ROW else ["length", "width"]
    given = "".join(f"{value}, " for value in ["mask"] * has_mask + ["out", *page.given.values()])
    lines = [f"x = {page.first}.contiguous()"] + ["mask = mask.contiguous()"] * has_mask
    lines += [*along.sizes, "out = torch.empty_like(x)"]
    launch = along.launch(page.schedule, given, is_at_once=True)
    kernel = head("x", *names, *lengths) + text
    return answer(page, kernel, "\n".join([*lines, launch, "return out"]))


def _row_scan(word: str, before: list[str], after: list[str]) -> list[str]:
    """A row at once."""
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
    """Neighbouring columns, one element after the other."""
    r = "length - 1 - r" if "end" in word else "r"
    lines = [*COLUMN.head, f"total = tl.full([BLOCK], {1.0 if 'product' in word else 0.0}, "
             "tl.float32)", COLUMN.loop]  # fmt: skip
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
