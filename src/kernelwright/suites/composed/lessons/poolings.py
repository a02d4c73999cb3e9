"""Poolings of signals, images and volumes: the greatest or the mean of windows."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.suites.composed.lessons.images import begin
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import blocks_of
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head

SPACES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}
PLACES = {
    1: ["column = at % w * stride - padding", "base = at // w * width"],
    2: [
        "column = at % w * stride - padding",
        "row = at // w % h * stride - padding",
        "base = at // (w * h) * height * width",
    ],
    3: [
        "column = at % w * stride - padding",
        "row = at // w % h * stride - padding",
        "layer = at // (w * h) % d * stride - padding",
        "base = at // (w * h * d) * depth * height * width",
    ],
}
FOUND = {
    1: ["c = column + i{s}", "live = inside & (c >= 0) & (c < width)"],
    2: [
        "r, c = row + i{s}, column + j{s}",
        "live = inside & (r >= 0) & (r < height) & (c >= 0) & (c < width)",
    ],
    3: [
        "z, r, c = layer + l{s}, row + i{s}, column + j{s}",
        "live = inside & (z >= 0) & (z < depth) & (r >= 0) & (r < height)",
        "live = live & (c >= 0) & (c < width)",
    ],
}
READS = {1: "base + c", 2: "base + r * width + c", 3: "base + (z * height + r) * width + c"}
LOOPS = {1: "i", 2: "ij", 3: "lij"}
MOST = ('float("-inf")', 'total = tl.maximum(total, tl.where(live, v, float("-inf")))')
MEAN = ("0.0", "total += tl.where(live, v, 0.0)")
KEYS = ("kernel_size", "stride", "padding", "dilation")
DEFAULTS = {"stride": "None", "padding": "0", "dilation": "1"}
FLAGS = {True: ("return_indices", "ceil_mode"), False: ("ceil_mode", "count_include_pad")}
WINDOWS = ("(2, 3)", "(3, 2)", "(3, 3)", "(2, 1)")
PAIRS = {
    "kernel_size": WINDOWS,
    "stride": ("(1, 2)", "(2, 1)", "(2, 2)"),
    "padding": ("(1, 0)", "(0, 0)", "(1, 0)"),
}


@dataclass(frozen=True)
class Pool:
    """A pooling module, and the arguments of its kernel."""

    rank: int
    is_most: bool
    is_pair: bool
    """Whether height and width have separate numbers."""
    called: str = ""

    @property
    def numbers(self) -> list[str]:
        """The kernel's names for the module's numbers."""
        if self.is_pair:
            return [f"{key}_{side}" for key in ("size", "stride", "padding") for side in "hw"]
        return ["size", "stride", "padding", *["dilation"] * self.is_most]

    @property
    def ends(self) -> str:
        """The kernel's names for the lengths of the result."""
        return "dhw"[3 - self.rank :]

    def kernel(self, builder: LessonBuilder, before: list[str], after: list[str]) -> str:
        """Return the kernel's text; ``before`` are steps on the values read, ``after`` on the
        results."""
        start, fold = MOST if self.is_most else MEAN
        sizes = dict(zip("ij", ("size_h", "size_w"), strict=True)) if self.is_pair else {}
        names = ["n", *SPACES[self.rank], *self.ends, *self.numbers, *builder.given]
        text = head("x", "out", *names, name=f"{'max' if self.is_most else 'average'}_pool")
        text += block(
            [
                "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
                "inside = at < n",
                *self._places(),
                f"total = tl.full([BLOCK], {start}, tl.float32)",
            ]
        )
        for depth, letter in enumerate(LOOPS[self.rank], 1):
            text += block([f"for {letter} in range(0, {sizes.get(letter, 'size')}):"], depth)
        apart = " * dilation" if "dilation" in self.numbers else ""
        inner = [line.format(s=apart) for line in FOUND[self.rank]]
        inner += [f"v = tl.load(x + {READS[self.rank]}, mask=live, other=0.0)", *before, fold]
        window = " * ".join([sizes.get(letter, "size") for letter in LOOPS[self.rank]])
        window = f"({window})" if self.rank > 1 else window
        last = "v = total" if self.is_most else f"v = total / {window}"
        ends = [last, *after, "tl.store(out + at, v, mask=inside)"]
        return text + block(inner, self.rank + 1) + block(ends)

    def _places(self) -> list[str]:
        lines = PLACES[self.rank]
        if not self.is_pair:
            return lines
        sides = ("w", "h", "")
        return [
            line.replace("stride", f"stride_{side}").replace("padding", f"padding_{side}")
            for line, side in zip(lines, sides, strict=True)
        ]

    def lengths(self) -> list[str]:
        """Return the forward's lines that read the module and find the lengths of the result."""
        attributes = [f"pool.{key}" for key in KEYS[: 3 + (self.is_most and not self.is_pair)]]
        one = "[0]" if self.rank == 1 and not self.is_most else ""
        spaces, arguments = SPACES[self.rank], ", ".join(self.numbers)
        first = f"{', '.join(spaces)} = x.shape[{'2:' if self.rank > 1 else '2'}]"
        if self.is_pair:
            a, b, c, d, e, f = self.numbers
            arguments = f"({a}, {b}), ({c}, {d}), ({e}, {f})"
            return [f"{arguments} = {', '.join(attributes)}", first] + [
                f"{side} = ({space} + 2 * padding_{side} - size_{side}) // stride_{side} + 1"
                for side, space in zip(self.ends, spaces, strict=True)
            ]
        lines = [f"{arguments} = {', '.join(f'{key}{one}' for key in attributes)}", first]
        gaps = "dilation * (size - 1) - 1" if self.is_most else "size"
        lines.append(f"more = 2 * padding - {gaps}")
        pairs = zip(self.ends, spaces, strict=True)
        return lines + [f"{end} = ({space} + more) // stride + 1" for end, space in pairs]


def pooling(builder: LessonBuilder) -> str:
    """Write the greatest or the mean of windows."""
    draw = builder.draw
    rank, is_most = draw.choice((1, 1, 2, 2, 3, 3)), draw.random() < 0.5
    begin(builder, rank + 2)
    builder.place, builder.way = "", "max" if is_most else "average"
    steps(builder, 0, draw.choice((0, 1, 1)), learned=False)
    before = builder.take()
    least = int(not before and draw.random() < 0.7)
    pool = _module(builder, rank, is_most)
    builder.step(f"{pool.called}({builder.x})", f"{builder.way} pooling")
    steps(builder, least, draw.choice((1, 1, 2)), learned=False)
    text = pool.kernel(builder, before, builder.take())
    ends = ", ".join(pool.ends)
    lines = [f"x, pool = {builder.first}.contiguous(), {pool.called}", *pool.lengths()]
    lines += [f"out = x.new_empty(*x.shape[:2], {ends})", "n = out.numel()"]
    given = ["x", "out", "n", *SPACES[rank], *pool.ends, *pool.numbers, *builder.given.values()]
    end = f"{', '.join(given)}, {blocks_of('WINDOWS')}"
    lines += [f"{builder.way}_pool[(triton.cdiv(n, WINDOWS),)]({end})", "return out"]
    return answer(builder, text, "\n".join(lines))


def _module(builder: LessonBuilder, rank: int, is_most: bool) -> Pool:
    """Write the module; the constructor is given some of its numbers, or has defaults for them."""
    draw = builder.draw
    is_pair = rank == 2 and draw.random() < 0.3
    keys = list(KEYS[: 3 + is_most])
    if is_pair:
        keys = keys[:3]
        builder.tuples |= {key: draw.choice(PAIRS[key]) for key in keys}
        builder.arguments += keys
    else:
        keys = keys[: draw.choice((1, 2, 3, len(keys), len(keys)))]
        keys += _numbers(builder, rank, keys, is_most)
    arguments = ", ".join(f"{key}={key}" for key in keys)
    if keys == list(KEYS[: len(keys)]) and draw.random() < 0.2:
        arguments = ", ".join(keys)
    names = ("pool", "maxpool", "max_pool") if is_most else ("pool", "avgpool", "avg_pool")
    kind = f"nn.{'Max' if is_most else 'Avg'}Pool{rank}d"
    return Pool(rank, is_most, is_pair, builder.module(draw.choice(names), f"{kind}({arguments})"))


def _numbers(builder: LessonBuilder, rank: int, keys: list[str], is_most: bool) -> list[str]:
    """Return the module's numbers as text, and the flags that the constructor passes on as well."""
    draw = builder.draw
    size = draw.choice((2, 3) if rank > 1 else (2, 3, 4))
    values = {
        "kernel_size": size,
        "stride": draw.choice((1, 2, 3)),
        "padding": draw.choice((0, 1)),
        "dilation": draw.choice((1, 1, 2)),
    }
    flags = list(FLAGS[is_most][: draw.choice((1, 2))]) if draw.random() < 0.35 else []
    has_defaults = bool(flags) or draw.random() < 0.4
    n_told = draw.choice((len(keys), len(keys), max(1, len(keys) - 1)))
    builder.arguments += [*keys, *flags]
    for number, key in enumerate(keys):
        if has_defaults and key in DEFAULTS:
            builder.defaults[key] = DEFAULTS[key]
        if number < n_told or key not in builder.defaults:
            builder.numbers[key] = (values[key], values[key])
        else:
            builder.defaulted.add(key)
    is_told = not builder.defaulted and draw.random() < 0.4
    for flag in flags:
        value = flag == "count_include_pad"
        builder.defaults[flag] = str(value)
        if is_told:
            builder.numbers[flag] = (value, value)
        else:
            builder.defaulted.add(flag)
    return flags
