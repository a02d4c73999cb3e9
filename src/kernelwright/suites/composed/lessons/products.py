"""Matrix products of arguments: every layout is read through its strides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import OF_TILES, TILES, looping
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head
from kernelwright.suites.composed.task_builder import Axis, Shape

HEAD = (
    "row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]",
    "column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)[None, :]",
)
LIVE = "mask=(row < m) & (column < n)"
STORE = f"tl.store(out + row * n + column, v, {LIVE})"
PAIRS = (("A", "B"), ("A", "B"), ("A", "B"), ("a", "b"), ("x", "y"), ("x", "w"), ("left", "right"),
         ("mat1", "mat2"), ("X", "Y"))  # fmt: skip
ROWS = (("M", "m", "rows", "num_rows"), (20, 33, 48, 65))
INNER = (("K", "k", "inner", "depth"), (7, 16, 33, 40, 70))
COLUMNS = (("N", "n", "columns", "num_columns"), (17, 32, 40, 66))
BATCH = (("batch_size", "batch", "num_batches"), (2, 3))
CALLS = ("torch.matmul({}, {})", "torch.matmul({}, {})", "{} @ {}")
HOW = ("torch.rand({shape})", "torch.rand({shape})", "torch.randn({shape})")


LOOP = (
    "v = tl.zeros([BLOCK, WIDE], tl.float32)",
    "for start in range(0, k, TERMS):",
    "    i = start + tl.arange(0, TERMS)[:, None]",
    "    j = start + tl.arange(0, TERMS)[None, :]",
    "    left = tl.load(a + row % m * a_m + j * a_k, mask=j < k, other=0.0)",
    "    right = tl.load(b + i * b_k + column % n * b_n, mask=i < k, other=0.0)",
    "    v += tl.dot(left, right, input_precision=PRECISION)",
)
"""The loop over the sum of products, some terms at a time."""


def grid(more: str = "") -> str:
    """Return the grid with a program for each tile of the result."""
    return f"(triton.cdiv(m, TILE_M), triton.cdiv(n, TILE_N){more})"


def kernel(
    arguments: Sequence[str],
    epilogue: Sequence[str],
    *,
    is_batched: bool = False,
    operands: Sequence[str] = (),
) -> str:
    """Return the text of a product's kernel; ``arguments`` are further ones, after the operands,
    and ``operands`` are lines that change the values read from these."""
    strides = ["a_m", "a_k", "b_k", "b_n"]
    moves: list[str] = []
    if is_batched:
        strides = ["a_z", "a_m", "a_k", "b_z", "b_k", "b_n"]
        moves = ["z = tl.program_id(2)", "a += z * a_z", "b += z * b_z", "out += z * m * n"]
    given = ["a", "b", *arguments, "out", "m", "n", "k", *strides]
    *reads, dot = LOOP
    sums = [*reads, *(f"    {line}" for line in operands), dot]
    return head(*given, *TILES) + block([*HEAD, *moves, *sums, *epilogue, STORE])


def launch(values: Sequence[str], *, is_batched: bool = False) -> str:
    """Return the forward's call of the kernel; a and b are its operands there."""
    tiles = grid(", batch" if is_batched else "")
    given = "".join(f"{value}, " for value in values)
    given += "out, m, n, k, *a.stride(), *b.stride(), "
    return f"kernel[{tiles}](a, b, {given}{OF_TILES})"


@dataclass(frozen=True)
class Operands:
    """The layout and the names of two inputs in a product."""

    left: str
    """``{}`` is the input; the same text in the task and in the answer."""
    right: str
    shapes: str
    """Shapes of both inputs, by the letters of their axes."""
    forms: tuple[str, ...] = CALLS
    """Spellings with ``{}`` twice for the operands, or with ``{a}`` and ``{b}`` for the inputs."""
    weight: int = 1


PLAIN = (*CALLS, "torch.mm({}, {})", "torch.einsum('ij,jk->ik', {a}, {b})")
KINDS = (
    Operands("{}", "{}", "mk kn", PLAIN, 3),
    Operands("{}.T", "{}", "km kn", (*CALLS, "torch.mm({}, {})", "{a}.t() @ {b}"), 3),
    Operands("{}", "{}.T", "mk nk", (*CALLS, "torch.matmul({a}, {b}.transpose(0, 1))",
                                     "F.linear({a}, {b})", "torch.mm({a}, {b}.t())"), 3),
    Operands("{}.T", "{}.T", "km nk", (*CALLS, "({b} @ {a}).T", "torch.mm({a}.t(), {b}.t())"), 3),
    Operands("{}", "{}", "zmk zkn", ("torch.bmm({}, {})", *CALLS), 4),
    Operands("{}", "{}.transpose(1, 2)", "zmk znk",
             ("torch.bmm({}, {})", *CALLS, "torch.einsum('bij,bkj->bik', {a}, {b})",
              "{a} @ {b}.mT"), 4),
    Operands("{}.transpose(1, 2)", "{}", "zkm zkn",
             ("torch.bmm({}, {})", *CALLS, "torch.matmul({a}.mT, {b})"), 3),
)  # fmt: skip
SQUARES = ("{a} @ {a}", "torch.matmul({a}, {a}.T)", "torch.matmul({a}.T, {a})", "{a} @ {a}.T",
           "{a}.T @ {a}", "torch.mm({a}, {a})")  # fmt: skip


def product(builder: LessonBuilder) -> str:
    """Write the product of two matrices, or two batches of them, in any layout."""
    draw = builder.draw
    kind = draw.choices(KINDS, [each.weight for each in KINDS])[0]
    axes = dict(zip("mkn", builder.lengths(ROWS, INNER, COLUMNS, is_work=True), strict=True))
    is_square = draw.random() < 0.2 and "z" not in kind.shapes
    if is_square:
        axes["k"] = axes["n"] = axes["m"]
        builder.numbers = {axes["m"].text: builder.numbers[axes["m"].text]}
    if "z" in kind.shapes:
        (axes["z"],) = builder.lengths(BATCH)
    a, b = draw.choice(PAIRS)
    how = draw.choice(("torch.tril({})", "torch.triu({})", "{}") if is_square else ("{}",))
    for name, letters in zip((a, b), kind.shapes.split(), strict=True):
        builder.input(name, tuple(axes[c] for c in letters), how.format(draw.choice(HOW)))
    side = draw.choice(("", "", "left", "right"))
    operands, names = _operand(builder, side, a, b) if side else ([], (a, b))
    left, right = kind.left.format(names[0]), kind.right.format(names[1])
    _begin(builder, (axes["m"], axes["n"]), draw.choice(("out", "C", "result", "y", "x")))
    forms = CALLS if side else kind.forms
    builder.step(draw.choice(forms).format(left, right, a=a, b=b), "product")
    left, right = kind.left.format(a), kind.right.format(b)
    return _finished(builder, left, right, is_batched="z" in kind.shapes, operands=operands)


def _operand(
    builder: LessonBuilder, side: str, a: str, b: str
) -> tuple[list[str], tuple[str, str]]:
    """Append steps on one operand; return the kernel's lines for its values, and the names of both
    operands afterwards."""
    builder.x = a if side == "left" else b
    builder.is_positive = _is_positive(builder.inputs[builder.x])
    builder.place = ""
    steps(builder, 1, builder.draw.choice((1, 1, 2)), learned=False)
    lines = [re.sub(r"\bv\b", side, line) for line in builder.take()]
    return lines, (builder.x, b) if side == "left" else (a, builder.x)


def _is_positive(how: str) -> bool:
    return "rand(" in how and "-" not in how


def gram(builder: LessonBuilder) -> str:
    """Write the product of a matrix with itself."""
    form = builder.draw.choice(SQUARES)
    rows, inner = builder.lengths(ROWS, INNER)
    a = builder.draw.choice(("A", "x", "X", "matrix"))
    builder.input(a, (rows, inner) if ".T" in form else (rows, rows), builder.draw.choice(HOW))
    if ".T" not in form:
        builder.numbers.pop(inner.text)
    sides = form.replace("torch.mm(", "").replace("torch.matmul(", "").rstrip(")")
    left, right = sides.replace(" @ ", ", ").format(a=a).split(", ")
    _begin(builder, (rows, rows), "out")
    if "{a}.T @" in form or "({a}.T" in form:
        builder.shape = (inner, inner)
    builder.step(form.format(a=a), "product with itself")
    return _finished(builder, left, right)


def added(builder: LessonBuilder) -> str:
    """Write a product and a further matrix."""
    m, k, n = builder.lengths(ROWS, INNER, COLUMNS, is_work=True)
    for name, shape in (("C", (m, n)), ("A", (m, k)), ("B", (k, n))):
        builder.input(name, shape, builder.draw.choice(HOW))
    forms = (
        "torch.addmm(C, A, B)",
        "A @ B + C",
        "torch.matmul(A, B) - C",
        "C + torch.matmul(A, B)",
        "torch.mm(A, B) * C",
        "torch.addmm(C, A, B, alpha=0.5)",
        "torch.addmm(C, A, B, beta=2.0)",
    )
    form = builder.draw.choice(forms)
    _begin(builder, (m, n), "out")
    builder.step(form, "product with a matrix added")
    line = f"v = v {{}} tl.load(c + row * n + column, {LIVE}, other=0.0)"
    builder.lines += ["v = v * 0.5"] if "alpha" in form else []
    sign = next((s for s in "-*" if f" {s} C" in form), "+")
    builder.lines += [line.format(f"{sign} 2.0 *" if "beta" in form else sign)]
    builder.given["c"] = "C.contiguous()"
    return _finished(builder, "A", "B")


def deep(builder: LessonBuilder) -> str:
    """Write the product of a tensor of three or four axes, or many matrices, with one matrix or as
    many."""
    draw = builder.draw
    z, m, k, n = builder.lengths(BATCH, ROWS, INNER, COLUMNS, is_work=True)
    (y,) = builder.lengths((("heads", "L", "seq_len"), (2, 3, 4)))
    a, b = draw.choice((("A", "B"), ("x", "weight"), ("x", "y"), ("q", "k_matrix")))
    if draw.random() < 0.6:
        is_three = draw.random() < 0.5
        lead = (z, y)[: 2 - is_three]
        builder.input(a, (*lead, m, k), draw.choice(HOW))
        builder.input(b, (k, n), draw.choice(HOW))
        sums = (
            "torch.einsum('bil,lk->bik', {a}, {b})"
            if is_three
            else "torch.einsum('bijl,lk->bijk', {a}, {b})"
        )
        _begin(builder, (m, n), "out")
        builder.step(draw.choice((*CALLS, sums)).format(a, b, a=a, b=b), "product")
        if is_three:
            builder.numbers.pop(y.text)
        return _finished(builder, f"{a}.reshape(-1, {a}.shape[-1])", b, f"*{a}.shape[:-1], n")
    is_turned = draw.random() < 0.6
    builder.input(a, (z, y, m, k), draw.choice(HOW))
    builder.input(b, (z, y, n, k) if is_turned else (z, y, k, n), draw.choice(HOW))
    right = f"{b}.transpose(-2, -1)" if is_turned else b
    _begin(builder, (m, n), "out")
    builder.step(draw.choice(CALLS).format(a, right), "product")
    end = ".transpose(1, 2)" if is_turned else ""
    return _finished(
        builder,
        f"{a}.flatten(0, 1)",
        f"{b}.flatten(0, 1){end}",
        f"*{a}.shape[:-1], n",
        is_batched=True,
    )


def vector(builder: LessonBuilder) -> str:
    """Write the product of a matrix with a vector, a row of products for each result."""
    draw = builder.draw
    m, k = builder.lengths(ROWS, (("K", "k", "columns"), (50, 64, 100)))
    a, b = draw.choice((("A", "B"), ("A", "x"), ("matrix", "vector"), ("A", "v")))
    is_column = draw.random() < 0.5
    builder.input(a, (m, k), draw.choice(HOW))
    builder.input(b, (k, Axis("1", 1)) if is_column else (k,), draw.choice(HOW))
    forms = CALLS if is_column else (*CALLS, "torch.mv({}, {})")
    _begin(builder, (m,), "out")
    builder.place = ""
    builder.step(draw.choice(forms).format(a, b), "product with a vector")
    steps(builder, 0, 2, learned=False)
    text = head("a", "b", "out", "k", *builder.given) + block(
        [
            "row = tl.program_id(0)",
            "total = tl.full([BLOCK], 0.0, tl.float32)",
            "for start in range(0, k, BLOCK):",
        ]
    )
    text += block(
        [
            "at = start + tl.arange(0, BLOCK)",
            "inside = at < k",
            "v = tl.load(a + row * k + at, mask=inside, other=0.0)",
            "total += v * tl.load(b + at, mask=inside, other=0.0)",
        ],
        2,
    )
    text += block(["v = tl.sum(total, 0)", *builder.take(), "tl.store(out + row, v)"])
    return answer(
        builder,
        text,
        f"""a, b = {a}.contiguous(), {b}.contiguous()
m, k = a.shape
out = a.new_empty({"m, 1" if is_column else "m"})
kernel[(m,)](a, b, out, k{builder.more}, {looping("k")})
return out""",
    )


def _begin(builder: LessonBuilder, shape: Shape, name: str) -> None:
    builder.x = name if name not in (*builder.numbers, *builder.inputs) else "out"
    builder.shape, builder.feature = shape, -1
    builder.place, builder.live = "column % n", ""
    builder.is_positive = all(map(_is_positive, builder.inputs.values()))


def _finished(
    builder: LessonBuilder,
    left: str,
    right: str,
    shape: str = "",
    *,
    is_batched: bool = False,
    operands: Sequence[str] = (),
) -> str:
    """Return the answer, with or without steps after the product."""
    draw = builder.draw
    builder.way = "batched" if is_batched else ""
    if draw.random() < 0.2 and not is_batched and not shape:
        which = draw.choice(("tril", "triu"))
        builder.way = "lower" if which == "tril" else "upper"
        builder.step(f"torch.{which}({builder.x})", f"{which}")
        sign = ">=" if which == "tril" else "<="
        builder.lines.append(f"v = tl.where(row {sign} column, v, 0.0)")
    steps(builder, 0, draw.choice((0, 0, 0, 1) if operands else (0, 1, 2, 2)))
    text = kernel(
        list(builder.given),
        builder.take(),
        is_batched=is_batched,
        operands=operands,
    )
    where = "batch, m, n" if is_batched else "m, n"
    lines = [f"a, b = {left}, {right}", ("batch, " if is_batched else "") + "m, k = a.shape"]
    lines += [f"n = b.shape[{2 if is_batched else 1}]", f"out = a.new_empty({where})"]
    lines += [launch(list(builder.given.values()), is_batched=is_batched)]
    lines += [f"return out.reshape({shape})" if shape else "return out"]
    return answer(builder, text, "\n".join(lines))
