"""The C++ that is emitted, as a reader sees it: reviewed like any other code."""

import pytest

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cpp.emitter import CppEmitter
from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Compute,
    Const,
    Contraction,
    Kernel,
    Load,
    Program,
    Reduce,
    Scan,
    Store,
    contiguous,
)

ROWS, COLUMNS = 512, 1000
X = contiguous("x", (ROWS, COLUMNS), "float32")
Y = contiguous("y", (ROWS, COLUMNS), "float32")
AT = Affine.of({"row": COLUMNS, "column": 1})
OUTER, INNER = (Axis("row", ROWS),), (Axis("column", COLUMNS),)


def compute(name: str, op: str, *args: str) -> Compute:
    return Compute(name, op, args, "float32")


LOAD = Load("value", X, AT)
STEPS = {
    "pointwise": Kernel(
        "relu", (*OUTER, *INNER), (),
        (LOAD, compute("result", "relu", "value"), Store(Y, AT, "result")),
        ("relu <- aten.relu",),
    ),
    "rows": Kernel(
        "softmax", OUTER, INNER,
        (
            LOAD, Reduce("largest", "max", "value", "float32"),
            compute("shifted", "sub", "value", "largest"), compute("power", "exp", "shifted"),
            Reduce("total", "sum", "power", "float32"),
            compute("share", "div", "power", "total"), Store(Y, AT, "share"),
        ),
        ("softmax <- aten.softmax",),
    ),
    "columns": Kernel(
        "column_sum", INNER, OUTER,
        (
            LOAD, Reduce("total", "sum", "value", "float32"),
            Store(contiguous("y", (COLUMNS,), "float32"), Affine.of({"column": 1}), "total"),
        ),
    ),
    "chunks": Kernel(
        "mean", (), (*OUTER, *INNER),
        (
            LOAD, Reduce("total", "sum", "value", "float32"),
            Const("count", float(ROWS * COLUMNS), "float32"),
            compute("mean_value", "div", "total", "count"),
            Store(contiguous("y", (), "float32"), Affine(), "mean_value"),
        ),
    ),
    "scan": Kernel(
        "cumsum", OUTER, INNER,
        (LOAD, Scan("running", "sum", "value", "float32"), Store(Y, AT, "running")),
    ),
    "squares": Kernel(
        "turned", (*INNER, *OUTER), (),
        (LOAD, Store(contiguous("y", (COLUMNS, ROWS), "float32"),
                     Affine.of({"column": ROWS, "row": 1}), "value")),
    ),
    "product": Contraction(
        "linear_relu", (), OUTER, (Axis("unit", 64),), INNER, Load("a", X, AT),
        Load("b", contiguous("weight", (64, COLUMNS), "float32"),
             Affine.of({"unit": COLUMNS, "column": 1})),
        (
            Load("bias_value", contiguous("bias", (64,), "float32"), Affine.of({"unit": 1})),
            compute("sum", "add", "acc", "bias_value"), compute("result", "relu", "sum"),
            Store(contiguous("y", (ROWS, 64), "float32"), Affine.of({"row": 64, "unit": 1}),
                  "result"),
        ),
        ("linear <- aten.linear", "relu <- aten.relu"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_emitted_function(name, snapshot):
    step = STEPS[name]
    program, target = Program(step.reads, (), (step,), None), Target("cpu", 2)
    emitter = CppEmitter()
    schedule = next(iter(emitter.schedules(program, target)))
    emitted = emitter.emit(program, schedule, target)
    function = emitted.definitions.split('"""')[1].partition('extern "C"')[2]
    assert emitted.launches[step.name] + '\n\nextern "C"' + function == snapshot


def test_equal_steps_share_a_function():
    first = STEPS["pointwise"]
    other = contiguous("z", (ROWS, COLUMNS), "float32")
    load = Load("again", Y, AT)
    body = (load, compute("after", "relu", "again"), Store(other, AT, "after"))
    second = Kernel("second", first.outer, (), body)
    program = Program((X,), (), (first, second), None)
    emitted = CppEmitter().emit(program, {}, Target("cpu", 2))
    assert emitted.definitions.count('extern "C"') == 1
    assert emitted.launches["second"].endswith("_relu(y.data_ptr(), z.data_ptr())")
