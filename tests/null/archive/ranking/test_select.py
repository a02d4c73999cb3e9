"""Laws of the choice: what wins, what is best, and what a proposer is shown."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.null.archive.nouns import proposal, verdict

from kernelwright.archive import ranking
from kernelwright.archive.conclusion import conclusion_over_shapes
from kernelwright.core.evaluation import Timing
from kernelwright.core.outcome import Status
from kernelwright.core.standing import SearchOutcome


def pair(number: int, status=Status.PASSED, candidate_ns=100, spread_ns=0):
    """A candidate that takes ``candidate_ns`` where the strongest baseline takes 100 ns."""
    said = proposal(f"candidate {number}")
    ours = tuple(candidate_ns + spread_ns * sign for sign in (-1, 0, 1, -1, 0, 1))
    timing = Timing({"candidate": ours, "eager": (100,) * 6}, "eager", "parent", "cold")
    passed = status is Status.PASSED
    return said, verdict(said.candidate, status, timing=timing if passed else None)


statuses = st.sampled_from(list(Status))
histories = st.lists(
    st.builds(pair, st.integers(0, 9), statuses, st.integers(20, 500), st.integers(0, 10)),
    max_size=12,
)


@settings(max_examples=40)
@given(histories)
def test_the_best_wins_and_nothing_that_wins_has_a_higher_lower_bound(history):
    best = ranking.best(history)
    rivals = [e for _, e in ranking.latest(history) if ranking.wins(e)]
    assert (best is None) == (not rivals)
    if best is not None:
        assert ranking.wins(best[1])
        assert best[1].speedup.low == max(e.speedup.low for e in rivals)


@settings(max_examples=40)
@given(histories, st.integers(0, 8), st.integers())
def test_exemplars_are_distinct_contrasting_and_repeatable(history, n, seed):
    shown = ranking.exemplars(history, n, seed)
    assert shown == ranking.exemplars(history, n, seed)
    assert len(shown) <= n
    digests = [exemplar.proposal.candidate.digest for exemplar in shown]
    assert len(set(digests)) == len(digests)
    roles = Counter(exemplar.role for exemplar in shown)
    ranked = ranking.ranked(history)
    assert roles["parent"] == (1 if ranked and n else 0)
    if roles["parent"]:
        assert (shown[0].proposal, shown[0].evaluation) == ranked[0]
        assert roles["failed"] <= n / 3
    for exemplar in shown:
        assert (exemplar.role == "failed") == (not exemplar.evaluation.passed)
        assert exemplar.evaluation.status is not Status.INFRA_ERROR
        if exemplar.role == "better":
            assert ranking.wins(exemplar.evaluation)
        if exemplar.role == "worse":
            assert not ranking.wins(exemplar.evaluation)


def test_nearly_equal_speeds_are_shown_once():
    history = [pair(i, candidate_ns=200 + i % 2) for i in range(8)] + [pair(9, candidate_ns=50)]
    assert [e.role for e in ranking.exemplars(history, 6, seed=1)] == ["parent", "worse"]


@settings(max_examples=40)
@given(histories, st.integers(2, 8), st.integers(), st.floats(1.05, 2))
def test_any_two_correct_exemplars_differ_by_the_contrast(history, n, seed, contrast):
    shown = ranking.exemplars(history, n, seed, contrast)
    speeds = sorted(e.evaluation.speedup.median for e in shown if e.evaluation.passed)
    assert all(fast >= 0.999 * contrast * slow for slow, fast in pairwise(speeds))


def test_shuffled_exemplars_are_the_same_kernels_with_one_anothers_verdicts():
    history = [pair(0, candidate_ns=20), pair(1, candidate_ns=40), pair(2, candidate_ns=300)]
    shown = ranking.exemplars(history, 3, seed=0)
    orders = set()
    for seed in range(20):
        mixed = ranking.shuffled(shown, seed)
        assert [e.proposal for e in mixed] == [e.proposal for e in shown]
        speeds = tuple(e.evaluation.speedup.median for e in mixed)
        assert sorted(speeds) == sorted(e.evaluation.speedup.median for e in shown)
        orders.add(speeds)
    assert len(orders) > 1


def test_faster_buckets_are_drawn_more_often():
    history = [pair(0, candidate_ns=20), pair(1, candidate_ns=40), pair(2, candidate_ns=300)]
    seconds = Counter(ranking.exemplars(history, 2, seed)[1].role for seed in range(200))
    assert seconds["better"] > 1.5 * seconds["worse"] > 0


def test_a_confirmation_that_fails_dethrones():
    flattered, honest = pair(0, candidate_ns=50), pair(1, candidate_ns=80)
    assert ranking.best([flattered, honest]) == flattered
    again = pair(0, candidate_ns=90)
    assert ranking.best([flattered, honest, again]) == honest


def test_a_machine_that_failed_says_nothing_about_the_candidate():
    good = pair(0, candidate_ns=50)
    assert ranking.best([good, pair(0, Status.INFRA_ERROR)]) == good


def test_an_interval_that_holds_one_is_no_win():
    assert ranking.best([pair(0, candidate_ns=99, spread_ns=5)]) is None
    assert ranking.best([]) is None


def test_a_gain_that_is_not_decided_yet_is_worth_another_look_and_a_loss_is_not():
    win, undecided, loss = (
        pair(0, candidate_ns=50),
        pair(1, candidate_ns=97, spread_ns=8),
        pair(2, candidate_ns=140),
    )
    assert ranking.promising([loss, undecided, win]) == [win, undecided]


def test_the_best_over_shapes_has_the_highest_mean_and_was_timed_on_all_of_them():
    slow, usual, fast = 200, 90, 50
    main = [pair(1, candidate_ns=usual), pair(2, candidate_ns=fast), pair(3, candidate_ns=slow)]
    other = [pair(1, candidate_ns=fast), pair(2, candidate_ns=slow)]
    found = ranking.best_over_shapes([main, other])
    assert found == [main[0], other[0]]
    assert round(ranking.mean_speedup(e for _, e in found) ** 2, 6) == round(100 / 90 * 2, 6)
    assert ranking.best_over_shapes([main[2:], [pair(3, candidate_ns=usual)]]) == []
    assert ranking.best_over_shapes([main, []]) == ranking.best_over_shapes([]) == []
    assert ranking.mean_speedup([pair(1, Status.WRONG_VALUES)[1]]) is None


def test_the_library_stays_best_where_the_winner_on_the_main_shape_loses_more_on_others():
    main, lost, won = [pair(1, candidate_ns=80)], [pair(1, candidate_ns=200)], [pair(1)]
    found = conclusion_over_shapes([main, lost])
    assert found.outcome is SearchOutcome.LIBRARY and found.best is None
    assert "nothing beats the strongest library setting of each shape" in found.sentence("eager")
    found = conclusion_over_shapes([main, won])
    assert found.best == main[0] and found.sentence("eager").startswith("1.12 times as fast as the")
    assert conclusion_over_shapes([main, []]).best == conclusion_over_shapes([main]).best == main[0]
