"""The C++ emitter tries no schedule that can only lose."""

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cpp.schedule import alternatives, guess
from kernelwright.compiler.ir.ir import Affine, Axis, Compute, Kernel, Load, Store, contiguous

TARGET = Target("cpu", 2)


def scaled(rows: int, columns: int) -> Kernel:
    """y[i, j] = x[i, j] * scale[j]: the scale keeps the axes from being joined."""
    x, y = (contiguous(name, (rows, columns), "float32") for name in "xy")
    scale = contiguous("scale", (columns,), "float32")
    at = Affine.of({"i": columns, "j": 1})
    body = (
        Load("a", x, at),
        Load("b", scale, Affine.of({"j": 1})),
        Compute("c", "mul", ("a", "b"), "float32"),
        Store(y, at, "c"),
    )
    return Kernel("scaled", (Axis("i", rows), Axis("j", columns)), (), body)


def tried(kernel: Kernel) -> list[dict]:
    first = guess(kernel, TARGET)
    return [first, *alternatives(kernel, first, TARGET)]


def test_a_contiguous_kernel_is_never_vectorised_across_its_rows():
    assert len(tried(scaled(4096, 1024))) > 1
    assert {choice["vector"] for choice in tried(scaled(4096, 1024))} == {"j"}


def test_strided_rows_are_tried_if_the_contiguous_axis_is_short():
    assert {choice["vector"] for choice in tried(scaled(4096, 3))} >= {"i"}


def test_one_thread_is_tried_for_a_short_kernel_and_not_for_a_long_one():
    assert "none" in {choice["parallel"] for choice in tried(scaled(256, 256))}
    assert "none" not in {choice["parallel"] for choice in tried(scaled(4096, 1024))}
