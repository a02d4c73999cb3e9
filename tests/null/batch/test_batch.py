"""Folders of candidates: reading them, matching them to problems, and the final answer."""

import os
from dataclasses import replace

import pytest
from tests.null.archive.nouns import TASK, verdict
from tests.null.shown import shown

from kernelwright.batch import Batch, BatchProgress, CandidateFile, assign, read_folder, results
from kernelwright.console.progress import ShowProgress
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import TaskError, UsageError
from kernelwright.core.evaluation import Timing
from kernelwright.core.outcome import Status
from kernelwright.core.places import MAX_CHARACTERS
from kernelwright.core.settings import Settings
from kernelwright.search.result import AtShape
from kernelwright.suites.suite import SuiteEntry, builtin_suite


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "task.py").write_text("class Model: pass")
    (tmp_path / "a.py").write_text("import torch")
    (tmp_path / "b.py").write_text("import triton\n@triton.jit\ndef f(): pass")
    (tmp_path / "c.py").write_bytes(b"\xff\xfe")
    (tmp_path / "_notes.py").write_text("")
    (tmp_path / ".hidden.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "softmax").mkdir()
    (tmp_path / "softmax" / "x.py").write_text("")
    return tmp_path


def test_a_folder_is_its_python_files_without_the_task(folder):
    files = read_folder(folder, entry="Fast", task_file=folder / "task.py")
    assert [file.name for file in files] == ["a.py", "b.py", "c.py"]
    assert [c.candidate.dialect for c in files[:2]] == ["torch", "triton"]
    assert files[0].candidate.entry == "Fast"
    assert files[2].candidate is None and "cannot be read" in files[2].error.what


def test_a_folder_without_candidates_is_an_error(folder, tmp_path):
    for empty in (tmp_path / "nowhere", tmp_path / "softmax"):
        with pytest.raises(UsageError, match="no candidates"):
            read_folder(empty, entry="ModelNew", task_file=folder / "softmax" / "x.py")


def test_an_unreadable_file_does_not_stop_the_others(tmp_path):
    (tmp_path / "good.py").write_text("import torch")
    (tmp_path / os.fsdecode(b"a\xff.py")).write_text("import torch")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    (tmp_path / "itself.py").symlink_to("itself.py")
    (tmp_path / "folder.py").mkdir()
    with (tmp_path / "long.py").open("w") as file:
        file.truncate(MAX_CHARACTERS + 1)
    files = read_folder(tmp_path, entry="M", task_file=tmp_path / "task.py")
    assert [file.name for file in files if file.candidate] == ["a\\xff.py", "good.py"]
    seen = {file.name: file.error.seen for file in files if file.error}
    assert seen.keys() == {"pipe.py", "endless.py", "itself.py", "folder.py", "long.py"}
    assert "no regular file" in seen["pipe.py"] and "no regular file" in seen["endless.py"]
    assert "more than 4,000,000 characters" in seen["long.py"]


def test_a_name_is_shown_on_one_line():
    name = "a\nfast.py"
    assert "\n" not in results.step_line(BatchProgress(name, 0, 1, name), 0)
    answer = results.suite(
        [Batch(TASK, (CandidateFile(name, error=TaskError("x")),))], [name], Settings()
    )
    assert "fast.py" in shown(answer) and "\nfast.py" not in shown(answer)


def test_files_go_to_the_problems_that_they_name(folder):
    groups, unmatched = assign(read_folder(folder, entry="M", deep=True), builtin_suite())
    assert [(entry.name, [c.name for c in files]) for entry, files in groups] == [
        ("softmax", ["softmax/x.py"])
    ]
    assert unmatched == ["a.py", "b.py", "c.py", "task.py"]


def test_problems_with_equal_text_have_separate_candidates(tmp_path):
    entries = [SuiteEntry("folder", n, name, TASK) for n, name in enumerate(("one", "two"), 1)]
    for name in ("one_x.py", "two_x.py"):
        (tmp_path / name).write_text("")
    groups, _ = assign(read_folder(tmp_path, entry="M"), entries)
    assert [(entry.name, [file.name for file in files]) for entry, files in groups] == [
        ("one", ["one_x.py"]),
        ("two", ["two_x.py"]),
    ]


def timed(name, candidate_ns, status=Status.PASSED):
    candidate = Candidate(f"# {name}", "cpp")
    series = {"candidate": (candidate_ns,) * 3, "eager": (100,) * 3}
    timing = Timing(series, "eager", "parent", "cold") if status is Status.PASSED else None
    return CandidateFile(
        name, candidate, verdict(candidate, status, timing=timing, kinds=("kernel",))
    )


BATCH = Batch(
    TASK,
    (
        CandidateFile("later.py", Candidate("# later", "cpp")),
        CandidateFile("bad.py", error=TaskError("candidate bad.py cannot be read", seen="bytes")),
        timed("slow.py", 200),
        timed("wrong.py", 0, Status.WRONG_VALUES),
        timed("fast.py", 50),
    ),
    interrupted=True,
)


def test_the_answer_lists_the_fastest_first_and_leaves_no_file_out():
    answer = results.one_task(BATCH, Settings())
    assert answer.exit_code == 0
    told = answer.facts
    assert [v["file"] for v in told["verdicts"]] == ["fast.py", "slow.py", "wrong.py", "bad.py"]
    assert told["verdicts"][0]["speedup"]["eager"]["median"] == 2.0
    assert told["verdicts"][3]["error"]["seen"] == "bytes"
    assert told["unjudged"] == ["later.py"] and told["interrupted"] is True
    assert told["candidates"] == {"passed": 2, "wrong_values": 1, "error": 1}
    text = shown(answer)
    assert text.index("fast.py") < text.index("slow.py") < text.index("wrong.py")
    for words in ("faster than eager", "slower than eager", "off by 0.5", "not judged yet"):
        assert words in text
    assert "resumes from here" in text


def test_an_interrupt_before_the_first_verdict_shows_no_empty_counts():
    batch = Batch(TASK, (CandidateFile("later.py", Candidate("# later", "cpp")),), interrupted=True)
    _, *lines = results.one_task(batch, Settings()).shown
    assert lines == ["stopped early; the same command resumes from here"]


def test_the_exit_code_is_one_if_nothing_passed():
    refused = replace(BATCH, files=BATCH.files[:2] + BATCH.files[3:4], interrupted=False)
    assert results.one_task(refused, Settings()).exit_code == 1


def test_a_suite_lists_its_tasks_and_the_files_for_none():
    answer = results.suite([BATCH, BATCH], ["odd.py"], Settings())
    assert len(answer.facts["tasks"]) == 2 and answer.facts["unmatched"] == ["odd.py"]
    assert answer.facts["candidates"]["passed"] == 4 and answer.facts["interrupted"] is True
    assert "odd.py" in shown(answer)


def test_progress_says_which_file_of_how_many(capfd):
    with ShowProgress(results.step_line) as progress:
        progress(BatchProgress("relu", 2, 50, "softmax_v2.py"))
    assert capfd.readouterr().err == "relu · 2 of 50 judged · softmax_v2.py\n"


def test_the_shapes_of_a_task_are_rows_below_a_file():
    def at(name, candidate_ns, is_holdout=False):
        return AtShape(name, timed("mine.py", candidate_ns).evaluation, is_holdout)

    mine = replace(
        timed("mine.py", 50), by_shape=(at("64x64", 50), at("8x64", 200), at("7x64", 400, True))
    )
    batch = Batch(TASK, (timed("failed.py", 0, Status.WRONG_VALUES), mine))
    answer = results.one_task(batch, Settings())
    first, second = answer.facts["verdicts"]
    assert [shape["name"] for shape in first["shapes"]] == ["64x64", "8x64", "7x64"]
    assert first["geometric_mean"] == pytest.approx(1.0) and "shapes" not in second
    text = shown(answer, width=200)
    assert "1.00 over the listed shapes" in text
    assert "at 8x64" in text and "at 7x64" in text and "held out" in text
