"""Heats: candidates are timed beside each other for a moment, and only the fastest is judged.

Measuring alone is what judges of one device wait for. A heat takes one such turn for several
candidates; its times choose, and no verdict holds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from kernelwright.core.candidate import Candidate
from kernelwright.core.evaluation import Evaluation
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.machine.room import lacked_memory
from kernelwright.judge.preparation import Preparation
from kernelwright.judge.timing.rounds import RunnerFailed

CLOSE = 0.97
"""A later heat's fastest must take less than this share of the best one's time to be judged: as
few rounds are off by some percent."""

Rank = Callable[[Mapping[str, Runner]], dict[str, float]]


def run(
    heats: Iterator[list[Preparation]],
    *,
    rank: Callable[[Sequence[Preparation]], dict[int, float]],
    judge: Callable[[Preparation], Evaluation],
    again: Callable[[Candidate], Evaluation],
) -> Iterator[list[Evaluation | None]]:
    """Of each heat the verdicts in the order of its candidates; None on those passed over.

    Those that do not run are judged, and of the others the fastest; where it is refused the next
    one. ``rank`` gives the shares of the strongest setting's time by the place in the heat.
    Whatever found too little memory is judged ``again`` when the others have ended.
    """
    best = math.inf
    for heat in heats:
        found: dict[int, Evaluation] = {}
        try:
            shares = rank(heat)
            for place in set(range(len(heat))) - set(shares):
                found[place] = judge(heat[place])
            for place in sorted(shares, key=shares.__getitem__):
                if shares[place] > CLOSE * best:
                    break
                found[place] = judge(heat[place])
                if found[place].passed:
                    speedup = found[place].speedup  # measured anew, so that luck decides nothing
                    best = min(best, 1 / speedup.median if speedup else shares[place])
                    break
        finally:
            for prepared in heat:
                prepared.close()
        for place, verdict in found.items():
            if lacked_memory(verdict):
                found[place] = again(heat[place].candidate)
        yield [found.get(place) for place in range(len(heat))]


def rank(
    heat: Sequence[Preparation], strongest: Callable[[], Runner], timed: Rank
) -> dict[int, float]:
    """How long each takes as a share of the strongest setting's time, by its place in the heat.

    ``timed`` measures runners by name. One that cannot be measured has its error noted.

    Raises:
        RunnerFailed: the strongest setting cannot be measured.
    """
    places = {str(n): n for n, prepared in enumerate(heat) if prepared.error is None}
    while places:
        runners = {name: heat[place].runner for name, place in places.items()}
        try:
            times = timed({**runners, "": strongest()})
        except RunnerFailed as failed:
            if not failed.name:
                raise
            heat[places.pop(failed.name)].error = failed.refused
        else:
            return {place: times[name] / times[""] for name, place in places.items()}
    return {}
