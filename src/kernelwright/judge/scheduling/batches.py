"""Batches: candidates are timed side by side for a moment, and only the fastest is judged.

Judges of one device wait for each other to measure. A batch measures several candidates within one
such wait. Its times choose a candidate, and no verdict holds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from kernelwright.core.candidate import Candidate
from kernelwright.core.evaluation import Evaluation
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.scheduling.memory import lacked_memory
from kernelwright.judge.submission import Submission
from kernelwright.judge.timing.stopwatch import RunnerFailed

MUST_BEAT = 0.97
"""The fastest of a later batch is judged only if it takes less than this share of the best time
until then: times of few rounds are off by some percent."""

Timer = Callable[[Mapping[str, Runner]], dict[str, float]]


def judge_fastest(
    batches: Iterator[list[Submission]],
    *,
    rank: Callable[[Sequence[Submission]], dict[int, float]],
    judge: Callable[[Submission], Evaluation],
    judge_again: Callable[[Candidate], Evaluation],
) -> Iterator[list[Evaluation | None]]:
    """For each batch the verdicts in the order of its candidates; None where a faster one was
    judged instead.

    Candidates that do not run are judged. Of the others the fastest is judged, or the next one if
    it is refused. ``rank`` gives times as shares of the strongest setting's, by index in the batch.
    A candidate that found too little memory is judged again when the others have ended.
    """
    best = math.inf
    for batch in batches:
        found: dict[int, Evaluation] = {}
        try:
            shares = rank(batch)
            for index in set(range(len(batch))) - set(shares):
                found[index] = judge(batch[index])
            for index in sorted(shares, key=shares.__getitem__):
                if shares[index] > MUST_BEAT * best:
                    break
                found[index] = judge(batch[index])
                if found[index].passed:
                    speedup = found[index].speedup  # measured anew, so that luck decides nothing
                    best = min(best, 1 / speedup.median if speedup else shares[index])
                    break
        finally:
            for submission in batch:
                submission.close()
        for index, verdict in found.items():
            if lacked_memory(verdict):
                found[index] = judge_again(batch[index].candidate)
        yield [found.get(index) for index in range(len(batch))]


def rank(
    batch: Sequence[Submission], strongest: Callable[[], Runner], timed: Timer
) -> dict[int, float]:
    """The time of each candidate as a share of the strongest setting's, by its index in the batch.

    ``timed`` measures runners by name. A candidate that cannot be measured keeps its error.

    Raises:
        RunnerFailed: the strongest setting cannot be measured.
    """
    indices = {str(n): n for n, submission in enumerate(batch) if submission.error is None}
    while indices:
        runners = {name: batch[index].built for name, index in indices.items()}
        try:
            times = timed({**runners, "": strongest()})
        except RunnerFailed as failed:
            if not failed.name:
                raise
            batch[indices.pop(failed.name)].error = failed.refused
        else:
            return {index: times[name] / times[""] for name, index in indices.items()}
    return {}
