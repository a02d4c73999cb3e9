"""The output of a finished search, for programs and for people."""

from dataclasses import replace

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, reason, verdict, warned
from tests.null.shown import shown

from kernelwright.archive import Archive
from kernelwright.console import answers
from kernelwright.core.errors import TaskError
from kernelwright.core.evaluation import Numerics
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.search.result import AtShape, Result


@pytest.fixture
def won(tmp_path):
    winner, loser = proposal(), proposal("[bold]slow[/bold]", note="[red]")
    found = verdict(winner.candidate, kinds=("kernel", "algebra"))
    reasons = (reason("\x1b[31m[link=x]no[/link]"),)
    refused = verdict(loser.candidate, Status.BUILD_ERROR, reasons=reasons)
    return Result(
        task=TASK,
        best=winner,
        evaluation=found,
        evaluated=[(winner, found), (loser, refused)],
        strongest="compile",
        source_path=tmp_path / "best.py",
        archive_url=str(tmp_path / "archive.sqlite"),
        report_path=tmp_path / "page.html",
    )


@pytest.fixture
def lost(won):
    return replace(won, best=None, evaluation=None, evaluated=won.evaluated[1:])


def with_times(won, candidate_ns):
    """A search whose first candidate took these times and did not win."""
    (said, found), other = won.evaluated
    samples = {"candidate": candidate_ns, "eager": (20, 22, None), "compile": (15, 14, 16)}
    found = replace(found, timing=replace(found.timing, samples_ns=samples))
    return replace(won, best=None, evaluation=None, evaluated=[(said, found), other])


def test_a_win_names_the_kernel_its_kind_and_its_speedups(won):
    answer = answers.one_result(won)
    best = answer.facts["best"]
    assert answer.exit_code == 0
    assert best["digest"] == won.best.candidate.digest and best["path"] == str(won.source_path)
    assert best["dialect"] == "cpp" and best["kinds"] == ["kernel", "algebra"]
    assert best["speedup"].keys() == {"eager", "compile"}
    assert answer.facts["candidates"] == {"passed": 1, "build_error": 1}
    assert answer.facts["report"] == str(won.report_path)
    assert answer.facts["baseline_ns"] == {"eager": 21.0, "compile": 15.0}


def test_a_results_repr_is_one_line_and_those_of_its_parts_hold_no_text_or_samples(won, lost):
    assert repr(won) == (
        "<Result relu: passed, kernel, algebra, 1.33 (1.27–1.50) × compile, on cpu>"
    )
    assert repr(lost) == "<Result relu: no candidate passed>"
    failed = replace(lost, error=TaskError("it does not run", seen="a" * 1000))
    assert repr(failed) == "<Result relu: it does not run>"
    task = replace(won.task, payload=b"weights" * 1000)
    for part in (task, won.best, won.evaluation):
        assert len(repr(part)) < 1000
    assert task.source not in repr(task) and won.best.candidate.source not in repr(won.best)


def test_the_table_says_why_the_losers_lost_and_obeys_none_of_them(won):
    text = shown(answers.one_result(won))
    assert "kernel algebra" in text and "best" in text and "build_error" in text
    assert "[link=x]no[/link]" in text and "\x1b" not in text
    assert str(won.source_path) in text.replace("\n", "")


def test_a_library_that_stays_best_is_no_failure(lost, won):
    answer = answers.one_result(with_times(won, (20, 21, 22)))
    assert answer.exit_code == 0 and answer.facts["best"] is None
    assert answer.facts["outcome"] == "library" and answer.facts["undecided"] is None
    assert "nothing beats the strongest library setting (compile)" in shown(answer)
    assert "library setting compile: " in shown(answer)
    assert answers.one_result(lost).exit_code == 1  # nothing even passed


def test_table_headline_and_json_say_undecided_where_the_interval_is_too_wide(won):
    answer = answers.one_result(with_times(won, (10, 12, 20)))
    assert answer.exit_code == 0 and answer.facts["best"] is None
    assert answer.facts["outcome"] == "undecided"
    assert answer.facts["undecided"]["digest"] == won.best.candidate.digest
    text = " ".join(shown(answer).split())
    assert "undecided: too wide an interval to tell it from compile" in text
    assert "undecided: the most promising candidate is 1.17 (0.80–1.50) times as fast" in text
    assert "here is the library setting as a file" in text


def test_a_confirming_verdict_is_shown_with_the_first_one(won):
    again = with_times(won, (20, 21, 22)).evaluated[0]
    result = replace(won, best=None, evaluation=None, evaluated=[*won.evaluated, again])
    answer = answers.one_result(result)
    text = " ".join(shown(answer).split())
    assert "slower than compile; measured again, at first 1.33 (1.27–1.50)" in text
    assert "nothing beats the strongest library setting (compile)" in text
    assert answer.facts["candidates"] == {"passed": 1, "build_error": 1}


def test_without_verdicts_the_reason_is_shown(lost):
    why = "the rules cannot capture this module: it changes its input in place"
    result = replace(lost, evaluated=[], reasons=(why,))
    text = " ".join(shown(answers.one_result(result)).split())
    assert f"no kernel was proposed: {why}; here is the strongest library setting" in text
    assert "budget" not in text and "nothing beats" not in text
    stopped = " ".join(shown(answers.one_result(replace(result, interrupted=True))).split())
    assert "no kernel was judged before it was stopped" in stopped


@pytest.mark.parametrize("strongest", ["compile", ""])
def test_without_a_passed_candidate_the_statuses_are_shown(lost, strongest):
    text = " ".join(shown(answers.one_result(replace(lost, strongest=strongest))).split())
    assert "no candidate passed (1 build_error)" in text and "budget" not in text


def test_an_interrupted_search_shows_how_to_resume(won):
    answer = answers.one_result(replace(won, interrupted=True))
    assert answer.facts["interrupted"] is True and "resumes from here" in shown(answer)


def test_a_suite_counts_the_library_as_one_and_lists_what_failed(won, lost, tmp_path):
    with Archive(won.archive_url) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        archive.add_proposal(run, won.best)
        archive.add_evaluation(run, won.evaluation)
    failed = replace(lost, evaluated=[], error=TaskError("it does not run", do="mend it"))
    settings = Settings(archive=won.archive_url, out=str(tmp_path))
    slow = with_times(won, (20, 21, 22))
    answer = answers.suite_results([won, slow, failed], settings)
    gain = won.evaluation.speedup.median
    assert answer.exit_code == 0
    assert answer.facts["geometric_mean"] == pytest.approx(gain**0.5)
    assert answer.facts["candidates"] == {"passed": 2, "build_error": 2}
    assert answer.facts["tasks"][2]["error"]["what"] == "it does not run"
    text = shown(answer)
    assert "library stays best" in text and "it does not run" in text
    assert (tmp_path / "report.html").exists()


def test_a_suite_where_nothing_ran_at_all(lost, tmp_path):
    failed = replace(lost, evaluated=[], error=TaskError("it does not run", do="mend it"))
    settings = Settings(archive=lost.archive_url, out=str(tmp_path))
    answer = answers.suite_results([failed], settings)
    assert answer.exit_code == 1 and answer.facts["report"] is None


def at_main(found):
    return [AtShape("64x64", found, is_holdout=False)]


def test_a_verdict_on_the_terminal_shows_everything_in_the_json():
    found = verdict(
        proposal().candidate, kinds=("kernel",), warnings=(warned("odd"),), guarantees=("network",)
    )
    answer = answers.verdict(at_main(found), proposal().candidate)
    text = shown(answer)
    for word in ("passed", "odd", "kernel", "× eager", "the strongest", "allowed", "network"):
        assert word in text
    refused = verdict(proposal().candidate, Status.WRONG_VALUES)
    answer = answers.verdict(at_main(refused), proposal().candidate)
    assert answer.exit_code == 1 and "off by 0.5" in shown(answer)
    nothing = replace(refused, numerics=Numerics(0.0, 0.0, 0.0, ()))
    assert "error" not in shown(answers.verdict(at_main(nothing), proposal().candidate))


def test_a_narrow_terminal_shortens_only_long_reasons(won):
    text = shown(answers.one_result(won), width=80)
    for words in ("algebra", "build_error", proposal().candidate.digest[3:13], "1.33", "best"):
        assert words in text


def test_a_mode_that_cannot_be_judged_takes_nothing_from_the_other(won, tmp_path):
    error = TaskError("the reference is not deterministic", seen="two runs differ")
    other = replace(won, best=None, evaluation=None, evaluated=[], error=error)
    answer = answers.one_result(replace(won, other=other))
    assert answer.exit_code == 0 and answer.facts["best"]
    assert answer.facts["other"]["error"]["what"] == error.what
    assert "TaskError: the reference is not deterministic" in shown(answer)
