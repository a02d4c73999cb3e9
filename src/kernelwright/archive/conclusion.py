"""The outcome of a search, as a code and in words. No other module words it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.archive import ranking
from kernelwright.archive.ranking import Pair
from kernelwright.core.standing import SearchOutcome, Standing


@dataclass(frozen=True)
class Conclusion:
    """The outcome of a search, and the candidate that it is about."""

    outcome: SearchOutcome
    pair: Pair | None = None
    """The winner, or the candidate that is undecided; None for every other outcome."""
    mean: float | None = None
    """The mean speedup over the shapes that the task lists, of the winner, or else of the candidate
    that wins on the main shape; None for a single shape."""
    n_shapes: int = 1

    @property
    def best(self) -> Pair | None:
        """The winner; None if nothing beats the strongest library setting."""
        return self.pair if self.outcome is SearchOutcome.WON else None

    @property
    def words(self) -> str:
        """A few words for a cell of a table: what kind of win it is, or why there is none."""
        if self.pair is not None and self.outcome is SearchOutcome.WON:
            return " ".join(self.pair[1].marks) or "won"
        return WORDS[self.outcome]

    def sentence(self, strongest: str) -> str:
        """Say it in full. ``strongest`` names the strongest library setting; '' if none is known.

        It holds no text by a stranger.
        """
        library = f"the strongest library setting ({strongest})" if strongest else "the library"
        if self.mean is not None:
            each = "the strongest library setting of each shape"
            said = f"{self.mean:.2f} times as fast as {each}"
            said += f" (geometric mean of {self.n_shapes} shapes)"
            loses = f"nothing beats {each}: the winner on the main shape is {said}"
            return said if self.outcome is SearchOutcome.WON else loses
        if self.pair is None:
            said = f"nothing beats {library}"
            return said if self.outcome is SearchOutcome.LIBRARY else WORDS[self.outcome]
        speedup = self.pair[1].speedup
        if self.outcome is SearchOutcome.WON:
            return f"{speedup} times as fast as {library}"
        return (
            f"undecided: the most promising candidate is {speedup} times as fast as {library}, an "
            "interval that is too wide to tell"
        )


WORDS = {
    SearchOutcome.UNDECIDED: "undecided",
    SearchOutcome.LIBRARY: "library stays best",
    SearchOutcome.NOT_TIMED: "nothing was timed",
    SearchOutcome.NONE_PASSED: "no candidate passed",
    SearchOutcome.NOTHING_JUDGED: "nothing was judged",
}
"""The words of a table for a search without a winner."""


def conclusion(history: Iterable[Pair]) -> Conclusion:
    """Return the outcome that follows from the last verdict on each candidate."""
    pairs = list(history)
    if (winner := ranking.best(pairs)) is not None:
        return Conclusion(SearchOutcome.WON, winner)
    for pair in ranking.promising(pairs):
        if pair[1].standing is Standing.UNDECIDED:
            return Conclusion(SearchOutcome.UNDECIDED, pair)
    if ranking.ranked(pairs):
        return Conclusion(SearchOutcome.LIBRARY)
    if any(verdict.passed for _, verdict in pairs):
        return Conclusion(SearchOutcome.NOT_TIMED)
    return Conclusion(SearchOutcome.NONE_PASSED if pairs else SearchOutcome.NOTHING_JUDGED)


def conclusion_over_shapes(histories: Sequence[Iterable[Pair]]) -> Conclusion:
    """Return the outcome over all listed shapes, the main shape first. The library stays best
    where what wins on the main shape loses more on the others."""
    pairs = [list(history) for history in histories]
    found, n_shapes = conclusion(pairs[0]), len(pairs)
    if n_shapes == 1:
        return found
    if best := ranking.best_over_shapes(pairs):
        mean = ranking.mean_speedup(verdict for _, verdict in best)
        return Conclusion(SearchOutcome.WON, best[0], mean, n_shapes)
    if found.best is None:
        return found
    digest = found.best[0].candidate.digest
    timed = [e for pair in pairs for p, e in ranking.ranked(pair) if p.candidate.digest == digest]
    if len(timed) < n_shapes:  # the search was stopped, or it fails on a shape
        return found
    return Conclusion(SearchOutcome.LIBRARY, None, ranking.mean_speedup(timed), n_shapes)
