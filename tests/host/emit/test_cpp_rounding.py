"""The compiler fuses no products that are subtracted from each other: equal ones cancel to zero."""

import pytest
import torch
from tests.host.emit.running import TARGET, run_emitted

from kernelwright.compiler.codegen.cpp.emitter import CppEmitter
from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Compute,
    Const,
    Kernel,
    Load,
    Program,
    Reduce,
    Store,
    contiguous,
)

N = 4099


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("is_summed", [False, True])
def test_equal_products_cancel(dtype, is_summed):
    index = Affine.of({"i": 1})
    loads = [Load(name, contiguous(f"t_{name}", (N,), dtype), index) for name in "abcd"]
    body = [
        *loads,
        Compute("left", "mul", ("a", "b"), dtype),
        Const("zero", 0.0, dtype),
        Compute("is_zero", "eq", ("a", "zero"), "bool"),
        Compute("kept", "where", ("is_zero", "zero", "left"), dtype),
        Compute("right", "mul", ("c", "d"), dtype),
        Compute("apart", "sub", ("kept", "right"), dtype),
    ]
    if is_summed:
        result = contiguous("y", (), dtype)
        body += [Reduce("sum", "sum", "apart", dtype), Store(result, Affine.of({}), "sum")]
        kernel = Kernel("kernel", (), (Axis("i", N),), tuple(body))
    else:
        body.append(Store(contiguous("y", (N,), dtype), index, "apart"))
        kernel = Kernel("kernel", (Axis("i", N),), (), tuple(body))
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(N, generator=generator, dtype=getattr(torch, dtype)) for _ in range(2))
    memory = {"t_a": x, "t_b": y, "t_c": x.clone(), "t_d": y.clone()}
    program = Program(kernel.reads, (), (kernel,), None)
    schedule = next(iter(CppEmitter().schedules(program, TARGET)))
    assert not run_emitted([kernel], schedule, memory)["y"].any()
