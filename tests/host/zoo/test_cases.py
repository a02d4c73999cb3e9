"""The zoo's catalogue: every row and file can be read, and every code has a cheat."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.core.outcome import Status
from kernelwright.testing.zoo import cases
from kernelwright.testing.zoo.cases import ZOO, Case, read_catalogue, render

ALL, CPU, CUDA = cases(), cases(device="cpu"), cases(device="cuda")
ON_GPU_ONLY = {"T1", "T10", "E2"}
"""Streams, the L2 cache, synchronisation: a CPU has nothing like them."""
TASK = "from torch import nn\n\n\nclass Model(nn.Module): ...\n"


def codes(found: list[Case]) -> set[str]:
    return {code for case in found for code in case.codes}


def make_zoo(folder: Path, row: str, file: str = "sums/total/cheats/half.py") -> Path:
    """A zoo of one candidate, with this row about it."""
    path = folder / file
    path.parent.mkdir(parents=True)
    path.write_text('"""Adds up half."""\n\nfrom zoo.cpp import build\n\nLIBRARY = build("")\n')
    (path.parents[1] / "task.py").write_text(TASK)
    (folder / "cpp.py").write_text('"""Shared."""\n\nimport os\n\n\ndef build(text): ...\n')
    (folder / "catalogue.toml").write_text(f'[codes]\nC22 = "Left out."\n\n[cases]\n{row}\n')
    return folder


def test_every_code_of_the_catalogue_has_a_cheat_for_each_kind_of_device() -> None:
    defined = set(read_catalogue(ZOO)["codes"])
    assert defined - codes(CPU) == ON_GPU_ONLY
    assert defined == codes(CUDA)


def test_enough_honest_candidates_stand_beside_the_cheats() -> None:
    for found in (CPU, CUDA):
        assert sum(not case.is_cheat for case in found) >= 40


def test_every_task_has_a_reference_and_a_candidate() -> None:
    tasks = {path.parent for path in ZOO.glob("*/*/task.py")}
    assert tasks == {case.path.parents[1] for case in ALL}
    assert len({folder.name for folder in tasks}) == len(tasks)


@pytest.mark.parametrize("case", {case.task: case for case in ALL}.values(), ids=lambda c: c.task)
def test_every_task_can_be_loaded_under_its_name(case: Case) -> None:
    task = case.load_task()
    assert task.name == case.task and "class Model(nn.Module)" in task.source


def test_every_candidate_is_one_standalone_text() -> None:
    for case in ALL:
        source = case.candidate.source
        assert "from zoo" not in source, case.name
        compile(source.encode(), case.name, "exec")


def test_a_cheat_that_may_pass_is_bound_in_what_it_may_claim() -> None:
    for case in ALL:
        if case.is_cheat and Status.PASSED in case.expect:
            bounds = (case.max_speedup, case.never_counts_as, case.warns, case.note)
            assert any(bounds), case.name


def test_a_cheat_that_passes_within_a_bound_on_its_time_needs_the_clock() -> None:
    for case in ALL:
        if case.is_cheat and Status.PASSED in case.expect:
            is_bound_by_time = case.max_speedup is not None or bool(case.never_counts_as)
            assert case.needs_clock or not is_bound_by_time, case.name


def test_a_shared_part_takes_the_place_of_its_import(tmp_path: Path) -> None:
    row = '"sums/total/cheats/half.py" = { codes = ["C22"], expect = ["wrong_values"] }'
    (case,) = cases(make_zoo(tmp_path, row))
    assert (case.name, case.task, case.kind) == ("half", "total", "cheat")
    assert case.candidate.source == (
        '"""Adds up half."""\n\nimport os\n\n\ndef build(text): ...\n\nLIBRARY = build("")\n'
    )
    (tmp_path / "cpp.py").unlink()
    with pytest.raises(UsageError, match=r"imports zoo\.cpp"):
        render(case.path)


@pytest.mark.parametrize(
    ("row", "seen"),
    [
        ('"sums/total/cheats/half.py" = { code = ["C22"] }', 'unknown key "code"'),
        ('"sums/total/cheats/half.py" = { codes = "C22" }', "'C22' is not a list of words"),
        ('"sums/total/cheats/half.py" = { expect = ["refused"] }', "'refused' is not a valid"),
        ('"sums/total/cheats/half.py" = { slow = "yes" }', "'yes' is not of type bool"),
        ('"sums/total/cheats/half.py" = { codes = ["C22"] }', "lacks expect"),
        (
            '"sums/total/cheats/half.py" = { codes = ["C99"], expect = ["timeout"] }',
            'unknown code "C99"',
        ),
        ('"sums/total/honest/half.py" = {}', "no such candidate file"),
        ('"sums/total/task.py" = {}', "no such candidate file"),
        ('"sums/total/cheats/half.py" = {', "cannot be read"),
        ("", "has no cases"),
    ],
)
def test_a_catalogue_that_does_not_fit_its_files_is_an_error(
    tmp_path: Path, row: str, seen: str
) -> None:
    with pytest.raises(UsageError, match=seen):
        cases(make_zoo(tmp_path, row))


def test_a_file_that_the_catalogue_leaves_out_is_an_error(tmp_path: Path) -> None:
    row = '"sums/total/cheats/half.py" = { codes = ["C22"], expect = ["wrong_values"] }'
    zoo = make_zoo(tmp_path, row)
    other = zoo / "sums" / "total" / "honest" / "whole.py"
    other.parent.mkdir()
    other.write_text('"""Adds up."""\n')
    with pytest.raises(UsageError, match="is not in the catalogue"):
        cases(zoo)


@pytest.mark.parametrize(
    ("content", "seen"),
    [(None, "no such folder"), ((), "an empty folder"), (("x.py",), "no catalogue.toml in it")],
)
def test_the_runner_refuses_a_folder_that_is_no_zoo(
    tmp_path: Path, content: tuple[str, ...] | None, seen: str
) -> None:
    folder = tmp_path / "nothing"
    if content is not None:
        folder.mkdir()
        for name in content:
            (folder / name).touch()
    command = [sys.executable, "-m", "kernelwright.testing.zoo", str(folder), "--untimed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"there is no zoo at {folder}" in done.stderr and f"seen: {seen}" in done.stderr
