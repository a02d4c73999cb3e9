"""What a search came to is said once: as a code, in words, and in a sentence."""

import pytest
from tests.null.archive.nouns import proposal, verdict

from kernelwright.archive import ranking
from kernelwright.archive.conclusion import WORDS, conclusion
from kernelwright.core.evaluation import Ratio, Timing
from kernelwright.core.outcome import Status
from kernelwright.core.standing import SearchOutcome, Standing


def pair(name, low, high):
    """A candidate whose speedup over "compile" has this interval."""
    said, times = proposal(name), (low, (low + high) / 2, high) * 4
    samples = {"candidate": (1000,) * 12, "compile": tuple(round(1000 * t) for t in times)}
    return said, verdict(said.candidate, timing=Timing(samples, "compile", "parent", "cold"))


@pytest.mark.parametrize(
    ("low", "high", "standing"),
    [
        (1.01, 1.2, Standing.FASTER),
        (1.29, 2.01, Standing.UNDECIDED),
        (1.6, 3.0, Standing.FASTER),
        (0.36, 1.53, Standing.UNDECIDED),
        (0.97, 1.1, Standing.UNDECIDED),
        (0.97, 1.04, Standing.NO_FASTER),
        (0.8, 0.99, Standing.SLOWER),
    ],
)
def test_an_interval_says_where_a_candidate_stands(low, high, standing):
    assert Ratio((low + high) / 2, low, high).standing is standing
    assert pair("x", low, high)[1].standing is standing


def test_a_verdict_without_a_time_stands_nowhere():
    assert verdict(proposal().candidate, Status.TIMEOUT).standing is Standing.REFUSED
    assert verdict(proposal().candidate, timing=None).standing is Standing.NOT_TIMED


def test_a_wide_interval_above_one_is_undecided_and_not_the_librarys_win():
    found = conclusion([pair("slow", 0.7, 0.8), pair("wide", 1.29, 2.01)])
    assert found.outcome is SearchOutcome.UNDECIDED and found.best is None
    assert found.pair[0].candidate.source == "wide"
    assert found.sentence("compile") == (
        "undecided: the most promising candidate is 1.65 (1.29–2.01) times as fast as the "
        "strongest library setting (compile), an interval that is too wide to tell"
    )


def test_the_last_verdict_on_a_candidate_counts():
    looked, confirmed = pair("a", 1.35, 1.74), pair("a", 0.95, 1.02)
    assert conclusion([looked]).outcome is SearchOutcome.WON
    found = conclusion([looked, confirmed])
    assert found.outcome is SearchOutcome.LIBRARY
    assert found.sentence("compile") == "nothing beats the strongest library setting (compile)"


def test_every_outcome_has_words_and_a_sentence():
    refused = proposal("refused")
    histories = {
        SearchOutcome.WON: [pair("a", 1.5, 1.6)],
        SearchOutcome.UNDECIDED: [pair("a", 0.9, 1.3)],
        SearchOutcome.LIBRARY: [pair("a", 0.5, 0.6)],
        SearchOutcome.NOT_TIMED: [(refused, verdict(refused.candidate, timing=None))],
        SearchOutcome.NONE_PASSED: [(refused, verdict(refused.candidate, Status.TIMEOUT))],
        SearchOutcome.NOTHING_JUDGED: [],
    }
    assert set(histories) == set(SearchOutcome) == {SearchOutcome.WON, *WORDS}
    for outcome, history in histories.items():
        found = conclusion(history)
        assert found.outcome is outcome and found.words and found.sentence("")


def test_the_best_is_measured_again_and_then_what_may_beat_it():
    best, rival, beaten = pair("a", 1.5, 1.7), pair("b", 1.4, 1.6), pair("c", 1.1, 1.2)
    history, confirmed = [beaten, rival, best], []

    def next_one(n_most=3):
        found = ranking.to_confirm(history, confirmed, n_most=n_most)
        return found and found[0].candidate.source

    assert next_one(n_most=0) == "a", "a winner is measured again in any case"
    history.append(pair("a", 1.5, 1.55))
    confirmed.append(best[0].candidate.digest)
    assert next_one() == "b" and next_one(n_most=1) is None
    history.append(pair("b", 1.35, 1.45))
    confirmed.append(rival[0].candidate.digest)
    assert next_one() is None, "the interval of c ends below that of a"


def test_a_winner_that_is_none_when_measured_again_makes_room_for_the_next():
    first, second = pair("a", 1.5, 1.7), pair("b", 1.2, 1.3)
    history = [first, second, pair("a", 0.9, 0.95)]
    again = ranking.to_confirm(history, [first[0].candidate.digest], n_most=1)
    assert again == second


def test_without_a_winner_those_that_may_be_faster_are_measured_again():
    maybe, loser = pair("a", 0.95, 1.3), pair("b", 0.8, 0.9)
    assert ranking.to_confirm([loser, maybe], [], n_most=3) == maybe
    assert ranking.to_confirm([loser], [], n_most=3) is None
