"""The names of files say which problem of a suite they are for."""

from pathlib import PurePath

import pytest

from kernelwright.core.task import Task
from kernelwright.suites.naming import entry_for
from kernelwright.suites.suite import SuiteEntry, builtin_suite


def entry(level, problem, name):
    return SuiteEntry(level, problem, name, Task(name, "kernelbench", name))


ONE = [
    entry("1", 1, "1_Square_matrix_multiplication_"),
    entry("1", 3, "3_Batched_matrix_multiplication"),
    entry("1", 13, "13_Matmul_for_symmetric_matrices"),
    entry("1", 19, "19_ReLU"),
]
TWO = [*ONE, entry("2", 3, "3_ConvTranspose3d_Sum"), entry("2", 1, "1_Conv2D_ReLU_BiasAdd")]

NAMES = {
    "3_Batched_matrix_multiplication.py": 3,
    "3_Batched_matrix_multiplication_v2.py": 3,
    "1_Square_matrix_multiplication_.py": 1,
    "1_Square_matrix_multiplication.py": 1,
    "level_1_problem_3_sample_0_kernel.py": 3,
    "level_1_problem_13.py": 13,
    "level1_problem19_triton.py": 19,
    "1_3.py": 3,
    "1_3_mine.py": 3,
    "1_13-a.py": 13,
    "3_mine.py": 3,
    "3.py": 3,
    "problem_3_gpt.py": 3,
    "19_ReLU/fast.py": 19,
    "level1/3_mine.py": 3,
    "level_1/problem_3/sample_2.py": 3,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_the_problem(name):
    assert entry_for(PurePath(name), ONE).problem == NAMES[name]


@pytest.mark.parametrize(
    "name", ["mine.py", "2_3_mine.py", "level_2_problem_3.py", "33_mine.py", "1_4.py", "3D_mine.py"]
)
def test_a_name_without_a_problem_matches_none(name):
    assert entry_for(PurePath(name), ONE) is None


def test_a_number_alone_is_ambiguous_with_several_levels():
    assert entry_for(PurePath("3_mine.py"), TWO) is None
    assert entry_for(PurePath("level2/3_mine.py"), TWO).level == "2"
    assert entry_for(PurePath("2_3_mine.py"), TWO).name == "3_ConvTranspose3d_Sum"
    assert entry_for(PurePath("level_1_problem_3.py"), TWO).level == "1"


def test_the_built_in_suite_matches_by_name():
    entries = builtin_suite()
    for name in ("layer_norm", "batch_norm", "mlp"):
        for path in (f"{name}.py", f"{name}_v2.py", f"{name}/right.py", f"{name}-a/x.py"):
            assert entry_for(PurePath(path), entries).name == name
    assert entry_for(PurePath("norm.py"), entries) is None
    assert entry_for(PurePath("mlps.py"), entries) is None
