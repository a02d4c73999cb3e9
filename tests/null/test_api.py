"""The public functions, up to where the machine would be asked."""

import pytest

import kernelwright as kw
from kernelwright.core.candidate import Candidate
from kernelwright.core.task import Task

TASK = Task("task", "builtin", "class Model: ...")
SOURCE = "class Fast: ...\n"


@pytest.fixture
def judged(monkeypatch):
    """The candidates that came to the judge."""
    found = []
    monkeypatch.setattr(
        "kernelwright.search.loop.judge", lambda task, candidate, settings: found.append(candidate)
    )
    return found


@pytest.mark.parametrize("entry, wanted", [(None, "ModelNew"), ("Fast", "Fast")])
def test_the_class_in_a_candidates_file_can_be_named(judged, tmp_path, entry, wanted):
    path = tmp_path / "fast.py"
    path.write_text(SOURCE)
    kw.judge(TASK, path, entry=entry)
    assert [(c.source, c.entry) for c in judged] == [(SOURCE, wanted)]


@pytest.mark.parametrize("entry, wanted", [(None, "Own"), ("Fast", "Fast")])
def test_a_candidate_has_its_own_class_unless_one_is_named(judged, entry, wanted):
    kw.judge(TASK, Candidate(SOURCE, "cpp", entry="Own"), entry=entry)
    assert [(c.dialect, c.entry) for c in judged] == [("cpp", wanted)]


@pytest.mark.parametrize("text", ["x = " + "-" * 20_000 + "1", "x = 1" + " + 1" * 50_000])
def test_a_candidate_that_is_nested_too_deeply_to_be_read_is_judged(judged, text, tmp_path):
    path = tmp_path / "deep.py"
    path.write_text(f"{SOURCE}\n{text}\n")
    kw.judge(TASK, path)
    assert [c.dialect for c in judged] == ["torch"]


def test_a_mark_that_an_editor_wrote_before_a_candidate_is_no_part_of_it(judged, tmp_path):
    path = tmp_path / "windows.py"
    path.write_bytes(b"\xef\xbb\xbf" + SOURCE.encode())
    kw.judge(TASK, path)
    assert [c.source for c in judged] == [SOURCE]
