"""What a suite came to: the library counts one, kinds and degenerate tasks stand apart."""

from dataclasses import replace
from statistics import geometric_mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.null.archive.nouns import TASK, proposal, verdict

from kernelwright.core.evaluation import Timing
from kernelwright.core.outcome import Status, Warned, WarningCode
from kernelwright.report.chapter import Chapter
from kernelwright.report.page import Beside, write_chapters
from kernelwright.report.scores import Score, score, summaries


def chapter(*pairs):
    return Chapter(TASK, "cpu", list(pairs), [], 0)


def timed(said, candidate_ns, **found):
    samples = {"candidate": (candidate_ns,) * 3, "eager": (40,) * 3, "compile": (30,) * 3}
    timing = Timing(samples | {"fast": (20,) * 3}, "fast", "parent", "cold")
    return said, verdict(said.candidate, timing=timing, **found)


def test_a_win_counts_with_its_kinds_and_against_what_most_people_run():
    found = score(chapter(timed(proposal(), 10, kinds=("kernel", "algebra"))), "1")
    assert (found.gain, found.plain_gain) == (2.0, 3.0)
    assert found.kinds == ("kernel", "algebra")


def test_where_the_library_stays_best_a_task_counts_one():
    slow = timed(proposal(), 25, kinds=("kernel",))
    found = score(chapter(slow), "1")
    assert found == Score("1", TASK.name)
    refused = (slow[0], verdict(slow[0].candidate, Status.WRONG_VALUES))
    assert score(chapter(refused), "1") == found


def test_an_undecided_task_counts_one_and_is_counted_apart():
    said, found = timed(proposal(), 10)
    samples = found.timing.samples_ns | {"candidate": (10, 18, 25)}
    found = replace(found, timing=replace(found.timing, samples_ns=samples))
    undecided = score(chapter((said, found)), "1")
    assert (undecided.gain, undecided.kinds, undecided.is_undecided) == (1.0, (), True)
    (level,) = summaries([undecided, Score("1", "won", 4.0)])
    assert (level.n_won, level.n_undecided, level.geometric_mean) == (1, 1, 2.0)


def test_a_win_with_the_errors_of_tf32_is_marked_and_the_mean_without_it_is_given():
    marked = timed(
        proposal(), 5, kinds=("kernel",), warnings=(Warned(WarningCode.TF32, "as TF32"),)
    )
    assert marked[1].marks == ("kernel", "tf32")
    found = score(chapter(marked), "1")
    assert found.is_tf32 and found.gain == 4.0
    (level,) = summaries([found, Score("1", "other", 4.0)])
    assert (level.geometric_mean, level.without_tf32, level.n_tf32) == (4.0, 2.0, 1)


def test_a_degenerate_task_is_in_no_level():
    pair = timed(
        proposal(), 10, warnings=(Warned(WarningCode.DEGENERATE_TASK, "output 0 is constant"),)
    )
    found = score(chapter(pair), "1")
    assert found.is_degenerate
    (alone,) = summaries([found])
    assert (alone.level, alone.n) == ("degenerate", 1)
    level, apart = summaries([found, Score("1", "sound")])
    assert (level.level, level.geometric_mean, apart.geometric_mean) == ("1", 1.0, 2.0)


def test_a_level_in_numbers():
    scores = [
        Score("1", "a", 4.0, kinds=("kernel",)), Score("1", "b", 1.3, kinds=("library",)),
        Score("1", "c"), Score("1", "d", is_failed=True), Score("2", "e", 2.0),
    ]  # fmt: skip
    one, two, both = summaries(scores)
    assert (one.level, two.level, both.level, both.n) == ("1", "2", "all", 5)
    assert (one.n, one.n_won, one.n_failed) == (4, 2, 1)
    assert one.geometric_mean == pytest.approx((4 * 1.3) ** 0.25)
    assert (one.median, one.lower_quartile) == (pytest.approx(1.15), 1.0)
    assert one.fast == {"1": 0.5, "1.2": 0.5, "1.5": 0.25, "2": 0.25, "3": 0.25, "5": 0.0}
    assert [(k.kind, k.n) for k in one.kinds] == [("kernel", 1), ("library", 1), ("algebra", 0)]
    assert one.kinds[0].geometric_mean == pytest.approx(4**0.25)
    assert one.kinds[2].geometric_mean == 1.0


@given(st.lists(st.floats(1.0, 100.0), min_size=1, max_size=20))
def test_a_summary_lies_within_its_scores(gains):
    (found,) = summaries([Score("1", str(i), gain) for i, gain in enumerate(gains)])
    low, high = min(gains) - 1e-9, max(gains) + 1e-9
    for value in (found.geometric_mean, found.median, found.lower_quartile, found.upper_quartile):
        assert low <= value <= high
    assert found.geometric_mean == pytest.approx(geometric_mean(gains))
    assert list(found.fast.values()) == sorted(found.fast.values(), reverse=True)


def test_the_page_of_a_suite_begins_with_its_levels(tmp_path):
    won = chapter(timed(proposal(), 10, kinds=("kernel",)))
    other = replace(won, task=replace(TASK, name="tanh"))
    scores = [score(won, "1"), score(other, "2"), Score("2", "gone", is_failed=True)]
    text = write_chapters([won, other], tmp_path / "page.html", Beside(scores)).read_text()
    assert text.index("By level") < text.index(won.anchor + '">\n')
    assert 'aria-label="fast_p by level"' in text and "fast_1.5" in text
    assert "By level" not in write_chapters([won, other], tmp_path / "page.html").read_text()
