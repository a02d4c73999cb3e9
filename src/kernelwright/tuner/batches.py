"""Measures a list of candidates: the next are compiled while the last are timed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kernelwright.core.candidate import Proposal
from kernelwright.core.trial import Trial
from kernelwright.tuner.process import TunerProcess
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.racing import STAGES
from kernelwright.tuner.trials import TrialRunner
from kernelwright.tuner.tuner import AHEAD

LEAST = 4
"""Number of candidates in a race at least, while there are as many."""


def measured(
    process: TunerProcess,
    runner: TrialRunner,
    proposals: Iterable[Proposal],
    *,
    most: int,
    stages: Sequence[int] = STAGES,
) -> Iterator[list[tuple[Proposal, Trial]]]:
    """Yield the candidates with their trials, race by race, with at most ``most`` in a race.

    ``runner`` measures in ``process``.

    Raises:
        DeviceError: the tuner's process cannot be started.
    """
    queue, left = BuildQueue(process), iter(proposals)
    try:
        while True:
            queue.add([*islice(left, max(0, AHEAD - len(queue)))])
            if not len(queue):
                return
            batch = queue.take(most, LEAST, math.inf)
            yield [*zip(batch, runner.measure(batch, stages), strict=True)]
    finally:
        queue.close()
