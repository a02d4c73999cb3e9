"""Poolings of signals, images and volumes: the greatest or the mean of windows."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.suites.composed.lessons.images import begin
from kernelwright.suites.composed.lessons.page import Page, block
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head

SPACES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}
PLACES = {
    1: ["column = at % w * stride - padding", "base = at // w * width"],
    2: ["column = at % w * stride - padding", "row = at // w % h * stride - padding",
        "base = at // (w * h) * height * width"],
    3: ["column = at % w * stride - padding", "row = at // w % h * stride - padding",
        "layer = at // (w * h) % d * stride - padding",
        "base = at // (w * h * d) * depth * height * width"],
}  # fmt: skip
FOUND = {
    1: ["c = column + i{s}", "live = inside & (c >= 0) & (c < width)"],
    2: ["r, c = row + i{s}, column + j{s}",
        "live = inside & (r >= 0) & (r < height) & (c >= 0) & (c < width)"],
    3: ["z, r, c = layer + l{s}, row + i{s}, column + j{s}",
        "live = inside & (z >= 0) & (z < depth) & (r >= 0) & (r < height)",
        "live = live & (c >= 0) & (c < width)"],
}  # fmt: skip
READS = {1: "base + c", 2: "base + r * width + c", 3: "base + (z * height + r) * width + c"}
LOOPS = {1: "i", 2: "ij", 3: "lij"}
MOST = ('float("-inf")', 'total = tl.maximum(total, tl.where(live, v, float("-inf")))')
MEAN = ("0.0", "total += tl.where(live, v, 0.0)")
KEYS = ("kernel_size", "stride", "padding", "dilation")
DEFAULTS = {"stride": "None", "padding": "0", "dilation": "1"}
FLAGS = {True: ("return_indices", "ceil_mode"), False: ("ceil_mode", "count_include_pad")}
WINDOWS = ("(2, 3)", "(3, 2)", "(3, 3)", "(2, 1)")
PAIRS = {"kernel_size": WINDOWS, "stride": ("(1, 2)", "(2, 1)", "(2, 2)"),
         "padding": ("(1, 0)", "(0, 0)", "(1, 0)")}  # fmt: skip


@dataclass(frozen=True)
class Pool:
    """A module, and what its kernel is told of it."""

    rank: int
    is_most: bool
    is_pair: bool
    """Whether height and width have numbers of their own."""
    called: str = ""

    @property
    def numbers(self) -> list[str]:
        """What the kernel calls them."""
        if self.is_pair:
            return [f"{key}_{side}" for key in ("size", "stride", "padding") for side in "hw"]
        return ["size", "stride", "padding", *["dilation"] * self.is_most]

    @property
    def ends(self) -> str:
        """What the kernel calls the lengths of the result."""
        return "dhw"[3 - self.rank :]

    def kernel(self, page: Page, before: list[str], after: list[str]) -> str:
        """Its text; ``before`` are steps on what is read, ``after`` on the results."""
        start, fold = MOST if self.is_most else MEAN
        sizes = dict(zip("ij", ("size_h", "size_w"), strict=True)) if self.is_pair else {}
        names = ["n", *SPACES[self.rank], *self.ends, *self.numbers, *page.given]
        text = head("x", "out", *names, name=f"{'max' if self.is_most else 'average'}_pool")
        text += block(["at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "inside = at < n",
                       *self._places(),
                       f"total = tl.full([BLOCK], {start}, tl.float32)"])  # fmt: skip
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
        """Lines of the forward that read the module and find the lengths of the result."""
        attributes = [f"pool.{key}" for key in KEYS[: 3 + (self.is_most and not self.is_pair)]]
        one = "[0]" if self.rank == 1 and not self.is_most else ""
        spaces, told = SPACES[self.rank], ", ".join(self.numbers)
        first = f"{', '.join(spaces)} = x.shape[{'2:' if self.rank > 1 else '2'}]"
        if self.is_pair:
            a, b, c, d, e, f = self.numbers
            told = f"({a}, {b}), ({c}, {d}), ({e}, {f})"
            return [f"{told} = {', '.join(attributes)}", first] + [
                f"{side} = ({space} + 2 * padding_{side} - size_{side}) // stride_{side} + 1"
                for side, space in zip(self.ends, spaces, strict=True)
            ]
        lines = [f"{told} = {', '.join(f'{key}{one}' for key in attributes)}", first]
        gaps = "dilation * (size - 1) - 1" if self.is_most else "size"
        lines.append(f"more = 2 * padding - {gaps}")
        pairs = zip(self.ends, spaces, strict=True)
        return lines + [f"{end} = ({space} + more) // stride + 1" for end, space in pairs]


def pooling(page: Page) -> str:
    """The greatest or the mean of windows."""
    draw = page.draw
    rank, is_most = draw.choice((1, 1, 2, 2, 3, 3)), draw.random() < 0.5
    begin(page, rank + 2)
    page.place, page.way = "", "max" if is_most else "average"
    steps(page, 0, draw.choice((0, 1, 1)), learned=False)
    before = page.take()
    least = int(not before and draw.random() < 0.7)
    pool = _module(page, rank, is_most)
    page.step(f"{pool.called}({page.x})", f"{page.way} pooling")
    steps(page, least, draw.choice((1, 1, 2)), learned=False)
    text = pool.kernel(page, before, page.take())
    ends = ", ".join(pool.ends)
    lines = [f"x, pool = {page.first}.contiguous(), {pool.called}", *pool.lengths()]
    lines += [f"out = x.new_empty(*x.shape[:2], {ends})", "n = out.numel()"]
    given = ["x", "out", "n", *SPACES[rank], *pool.ends, *pool.numbers, *page.given.values()]
    each = page.schedule.windows
    end = f"{', '.join(given)}, {page.schedule.of(each)}"
    lines += [f"{page.way}_pool[(triton.cdiv(n, {each}),)]({end})", "return out"]
    return answer(page, text, "\n".join(lines))


def _module(page: Page, rank: int, is_most: bool) -> Pool:
    """The module; the constructor is told some of its numbers, or has defaults for them."""
    draw = page.draw
    is_pair = rank == 2 and draw.random() < 0.3
    keys = list(KEYS[: 3 + is_most])
    if is_pair:
        keys = keys[:3]
        page.tuples |= {key: draw.choice(PAIRS[key]) for key in keys}
        page.arguments += keys
    else:
        keys = keys[: draw.choice((1, 2, 3, len(keys), len(keys)))]
        keys += _numbers(page, rank, keys, is_most)
    told = ", ".join(f"{key}={key}" for key in keys)
    if keys == list(KEYS[: len(keys)]) and draw.random() < 0.2:
        told = ", ".join(keys)
    names = ("pool", "maxpool", "max_pool") if is_most else ("pool", "avgpool", "avg_pool")
    kind = f"nn.{'Max' if is_most else 'Avg'}Pool{rank}d"
    return Pool(rank, is_most, is_pair, page.module(draw.choice(names), f"{kind}({told})"))


def _numbers(page: Page, rank: int, keys: list[str], is_most: bool) -> list[str]:
    """Tells the module's numbers; the flags that the constructor hands on as well."""
    draw = page.draw
    size = draw.choice((2, 3) if rank > 1 else (2, 3, 4))
    values = {"kernel_size": size, "stride": draw.choice((1, 2, 3)), "padding": draw.choice((0, 1)),
              "dilation": draw.choice((1, 1, 2))}  # fmt: skip
    flags = list(FLAGS[is_most][: draw.choice((1, 2))]) if draw.random() < 0.35 else []
    has_defaults = bool(flags) or draw.random() < 0.4
    n_told = draw.choice((len(keys), len(keys), max(1, len(keys) - 1)))
    page.arguments += [*keys, *flags]
    for number, key in enumerate(keys):
        if has_defaults and key in DEFAULTS:
            page.defaults[key] = DEFAULTS[key]
        if number < n_told or key not in page.defaults:
            page.numbers[key] = (values[key], values[key])
        else:
            page.untold.add(key)
    is_told = not page.untold and draw.random() < 0.4
    for flag in flags:
        value = flag == "count_include_pad"
        page.defaults[flag] = str(value)
        if is_told:
            page.numbers[flag] = (value, value)
        else:
            page.untold.add(flag)
    return flags
