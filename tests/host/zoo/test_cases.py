"""The zoo's files: every header can be read, every case has its task, the catalogue is covered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.core.outcome import Status
from kernelwright.testing.zoo import cases
from kernelwright.testing.zoo.cases import FOLDER, read_case, task

CPU, CUDA = cases("cpu"), cases("cuda")
ON_GPU_ONLY = {"T1", "T10", "E2"}
"""Streams, the L2 cache, synchronisation: nothing of the kind exists on a CPU."""
KNOWN = (
    {f"T{n}" for n in range(1, 15)}  # T15 is noise, no cheat: see docs/judge.md
    | {f"C{n}" for n in range(1, 25)}
    | {f"F{n}" for n in range(1, 9)}
    | {f"E{n}" for n in range(1, 8)}
)


def rows(found: list) -> set[str]:
    """The rows of the catalogue that cases stand for."""
    return {row for case in found for row in re.split(r",\s*", case.catalogue) if row}


def test_every_row_of_the_catalogue_has_a_cheat() -> None:
    assert KNOWN - rows(CPU) <= ON_GPU_ONLY
    assert KNOWN - rows(CUDA) == set()


def test_enough_honest_candidates_stand_beside_the_cheats() -> None:
    for device in (CPU, CUDA):
        assert sum(not case.is_cheat for case in device) >= 40


@pytest.mark.parametrize("name", sorted({case.task for case in CPU + CUDA}))
def test_every_task_is_there(name: str) -> None:
    assert "class Model(nn.Module)" in task(name).source


def test_every_task_is_used() -> None:
    assert {path.stem for path in (FOLDER / "tasks").glob("*.py")} == {
        case.task for case in CPU + CUDA
    }


def test_names_are_unique_because_the_command_line_takes_them() -> None:
    names = [case.name for case in CPU]
    assert len(names) == len(set(names))


def test_a_cheat_that_may_pass_is_bound_in_what_it_may_claim() -> None:
    for case in CPU + CUDA:
        if case.is_cheat and Status.PASSED in case.expect:
            bounds = (case.max_speedup, case.not_kinds, case.warns, case.note)
            assert any(bounds), case.name


@pytest.mark.parametrize(
    ("header", "seen"),
    [
        ("task: softmax\ndevices: cpu\nexpects: passed", "expects: passed"),
        ("task: softmax\ndevices: cpu\nexpect: refused", "refused"),
        ("devices: cpu", "task"),
    ],
)
def test_a_header_that_cannot_be_read_is_an_error(tmp_path: Path, header: str, seen: str) -> None:
    path = tmp_path / "honest" / "case.py"
    path.parent.mkdir()
    path.write_text(f'"""What it does.\n\n{header}\n"""\n')
    with pytest.raises(UsageError, match=seen):
        read_case(path)
