"""Kinds follow from what ran, seen from outside: not from the source, nor from a profiler."""

from kernelwright.testing.zoo import Result, cases, run

TOLD_APART = (
    "cpp_tiled_matmul", "einsum_matmul", "library_called_a_kernel", "decoy_for_the_profiler",
    "library_through_ctypes", "decoy_result_dropped",
)  # fmt: skip


def test_own_kernels_are_told_from_the_librarys():
    known = {case.name: case for case in cases(device="cpu")}
    outcomes = run("cpu", [known[name] for name in TOLD_APART])
    wrong = [(o.case.name, o.why) for o in outcomes if o.result is not Result.HELD]
    assert wrong == []
    (tiled,) = [o for o in outcomes if o.case.name == "cpp_tiled_matmul"]
    assert tiled.evaluation.kinds == ("kernel",)
