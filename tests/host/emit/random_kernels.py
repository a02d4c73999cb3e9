"""Random kernels of the loop language, for comparing emitted code with the interpreter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st

from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Bound,
    Compute,
    Const,
    Iota,
    Kernel,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
    Tensor,
    contiguous,
)

SIZES = st.sampled_from([1, 1, 2, 3, 5, 8, 17, 33, 64, 70, 130, 200])
FLOATS = ["float32", "float32", "float32", "float32", "float64", "bfloat16", "float16"]
UNARY = ["neg", "abs", "tanh", "sigmoid", "erf", "relu", "square", "sin", "cos", "floor", "sign"]
BINARY = ["add", "sub", "mul", "maximum", "minimum"]
MAX_POINTS = 30_000


class Drawn:
    """A kernel while it is drawn: the body so far and the values of each kind."""

    def __init__(self, draw: Callable[[Any], Any], name: str) -> None:
        self.draw, self.name = draw, name
        self.outer = self._axes("o", draw(st.integers(0, 3)))
        self.inner = self._axes("i", draw(st.sampled_from([0, 1, 1, 2])))
        self.body: list[Op] = []
        self.dtype: dict[str, str] = {}
        self.count = 0

    def _axes(self, prefix: str, n: int) -> list[Axis]:
        axes: list[Axis] = []
        for position in range(n):
            size = self.draw(SIZES)
            if math.prod(a.size for a in axes) * size <= (MAX_POINTS if prefix == "o" else 400):
                axes.append(Axis(f"{prefix}{position}", size))
        return axes

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def add(self, op: Any, dtype: str) -> str:
        self.body.append(op)
        self.dtype[op.name] = dtype
        return op.name

    def tensor(self, axes: list[Axis], dtype: str, *, padded: bool) -> tuple[Tensor, Affine]:
        """A tensor with one dimension per axis, in a drawn order, perhaps with gaps."""
        axes = self.draw(st.permutations(axes))
        step = self.draw(st.sampled_from([1, 1, 1, 2, 3])) if padded else 1
        strides: list[int] = []
        for axis in reversed(axes):
            strides.append(step)
            step *= axis.size
        strides.reverse()
        tensor = Tensor(
            f"{self.name}_{self.fresh('t')}", tuple(a.size for a in axes), dtype, tuple(strides)
        )
        return tensor, Affine.of({a.name: s for a, s in zip(axes, strides, strict=True)})

    def load(self) -> str:
        """A plain load over a drawn subset of the axes."""
        axes = [a for a in (*self.outer, *self.inner) if self.draw(st.integers(0, 3))]
        dtype = self.draw(st.sampled_from([*FLOATS, "int64", "int32", "uint8", "bool"]))
        tensor, index = self.tensor(axes, dtype, padded=True)
        return self.add(Load(self.fresh("x"), tensor, index), dtype)

    def window(self) -> str:
        """A load at stride * a + b - 1 with bounds, as convolutions and pooling have."""
        a, b = (*self.outer, *self.inner)[0], (*self.outer, *self.inner)[-1]
        stride = self.draw(st.integers(1, 2))
        size = max(1, stride * (a.size - 1) + b.size - 2)
        index = Affine.of({a.name: stride} | ({b.name: 1} if b != a else {}), -1)
        tensor = contiguous(f"{self.name}_{self.fresh('w')}", (size,), "float32")
        fill = self.draw(st.sampled_from([0.0, -math.inf]))
        load = Load(self.fresh("x"), tensor, index, (Bound(index, 0, size),), fill)
        return self.add(load, "float32")

    def gather(self) -> str:
        axes = [a for a in (*self.outer, *self.inner) if self.draw(st.booleans())]
        places, index = self.tensor(axes, "int64", padded=False)
        place = self.add(Load(self.fresh("p"), places, index), "int64")
        wide = self.draw(st.sampled_from([*self.outer, *self.inner, None]))
        width = wide.size if wide else 1
        table = contiguous(f"{self.name}_{self.fresh('table')}", (4, width), "float32")
        index = Affine.of({wide.name: 1} if wide else {})
        load = Load(self.fresh("x"), table, index, gather=((place, width),))
        return self.add(load, "float32")

    def pick(self, dtypes: tuple[str, ...]) -> str | None:
        found = [name for name, dtype in self.dtype.items() if dtype in dtypes]
        return self.draw(st.sampled_from(found)) if found else None

    def compute(self) -> None:
        name = self.pick(("float32",))
        if name is None:
            other = self.pick(tuple({*FLOATS, "int64", "int32", "uint8", "bool"}))
            assert other is not None
            self.add(Compute(self.fresh("f"), "cast", (other,), "float32"), "float32")
            return
        if self.draw(st.booleans()):
            op = self.draw(st.sampled_from(UNARY))
            self.add(Compute(self.fresh("u"), op, (name,), "float32"), "float32")
            return
        other = self.pick(("float32",))
        assert other is not None
        op = self.draw(st.sampled_from(BINARY))
        self.add(Compute(self.fresh("b"), op, (name, other), "float32"), "float32")

    def select(self) -> None:
        """where(load > c, a, b): only exact values are compared."""
        exact = [op.name for op in self.body if isinstance(op, Load)]
        left, right = self.pick(("float32",)), self.pick(("float32",))
        if not exact or left is None or right is None:
            return
        name = self.draw(st.sampled_from(exact))
        limit = self.add(Const(self.fresh("c"), 1, self.dtype[name]), self.dtype[name])
        op = self.draw(st.sampled_from(["lt", "ge", "eq", "ne"]))
        test = self.add(Compute(self.fresh("q"), op, (name, limit), "bool"), "bool")
        self.add(Compute(self.fresh("s"), "where", (test, left, right), "float32"), "float32")

    def reduce(self) -> None:
        exact = [op.name for op in self.body if isinstance(op, Load)]
        op = self.draw(st.sampled_from(["sum", "sum", "max", "min", "argmax", "argmin", "any"]))
        if op == "any":
            if name := self.pick(("bool",)):
                self.add(Reduce(self.fresh("r"), op, name, "bool"), "bool")
            return
        if op in ("argmax", "argmin"):
            exact = [e for e in exact if self.dtype[e] != "bool"]
            if exact:
                name = self.draw(st.sampled_from(exact))
                self.add(Reduce(self.fresh("r"), op, name, "int64"), "int64")
            return
        if name := self.pick(("float32",)):
            self.add(Reduce(self.fresh("r"), op, name, "float32"), "float32")

    def scan(self) -> None:
        if len(self.inner) != 1 or (name := self.pick(("float32",))) is None:
            return
        op = self.draw(st.sampled_from(["sum", "max", "min"]))
        way = {"reverse": self.draw(st.booleans()), "exclusive": self.draw(st.booleans())}
        self.add(Scan(self.fresh("s"), op, name, "float32", **way), "float32")

    def store(self) -> None:
        """Store the last float and one more value over the axes they may depend on."""
        wanted = [name for name in self.dtype if self.dtype[name] == "float32"][-1:]
        wanted += [self.draw(st.sampled_from(list(self.dtype)))]
        scope = Kernel(self.name, tuple(self.outer), tuple(self.inner), tuple(self.body)).scopes()
        for name in wanted:
            axes = [*self.outer, *(self.inner if scope[name] == "inner" else [])]
            tensor, index = self.tensor(axes, self.dtype[name], padded=False)
            self.body.append(Store(tensor, index, name))


@st.composite
def kernels(draw: Callable[[Any], Any], name: str) -> Kernel:
    """One kernel with loads, computations, reductions or scans, and stores."""
    drawn = Drawn(draw, name)
    drawn.load()
    if (drawn.outer or drawn.inner) and draw(st.integers(0, 2)) == 0:
        drawn.window()
    if draw(st.integers(0, 3)) == 0:
        drawn.gather()
    if drawn.inner and draw(st.integers(0, 4)) == 0:
        drawn.add(Iota(drawn.fresh("n"), Affine.of({drawn.inner[-1].name: 1}, 2)), "int64")
    drawn.compute()
    steps = [drawn.load, drawn.compute, drawn.compute, drawn.compute, drawn.select]
    if drawn.inner:
        steps += [drawn.reduce, drawn.reduce, drawn.scan]
    for step in draw(st.lists(st.sampled_from(steps), min_size=2, max_size=9)):
        step()
    drawn.store()
    return Kernel(name, tuple(drawn.outer), tuple(drawn.inner), tuple(drawn.body))


def memory_for(kernel: Kernel, seed: int) -> dict[str, torch.Tensor]:
    """Random contents for what a kernel reads; places of gathers lie in 0..3."""
    generator = torch.Generator().manual_seed(seed)
    memory = {}
    for tensor in kernel.reads:
        extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True))
        dtype = getattr(torch, tensor.dtype)
        if tensor.dtype in ("int64", "int32", "uint8", "bool"):
            high = 2 if tensor.dtype == "bool" else 4
            flat = torch.randint(high, (extent,), generator=generator).to(dtype)
        else:
            flat = torch.randn(extent, generator=generator).to(dtype)
        memory[tensor.name] = flat.as_strided(tensor.shape, tensor.strides)
    return memory
