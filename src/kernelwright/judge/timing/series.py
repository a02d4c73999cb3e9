"""What rounds of timed calls gave, series by series."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.core.evaluation import CANDIDATE, Timing
from kernelwright.judge.children.runner import Call
from kernelwright.judge.timing.late import late_ns


@dataclass
class Series:
    """The times of the candidate and of every baseline, in the order of the rounds."""

    samples_ns: dict[str, list[int]]
    beside: str
    """The baseline whose outputs are taken as the candidate's are."""
    after_ns: dict[str, list[tuple[int, ...]]] = field(init=False)
    """What was timed after the same calls, where children copy their outputs."""

    def __post_init__(self) -> None:
        self.after_ns = {CANDIDATE: [], self.beside: []}

    def add(self, calls: Mapping[str, Call]) -> None:
        """Note a round's calls."""
        for name, call in calls.items():
            self.samples_ns[name].append(call.elapsed_ns)
            if call.after_ns:
                self.after_ns[name].append(call.after_ns)

    def timing(self, cache: str) -> Timing:
        """The whole, with work that the candidate had put off added to its times."""
        mine, theirs = (zip(*self.after_ns[name], strict=True) for name in (CANDIDATE, self.beside))
        found = {name: tuple(samples) for name, samples in self.samples_ns.items()}
        call_ns = statistics.median(found[CANDIDATE])
        late = sum(late_ns(a, b, call_ns) for a, b in zip(mine, theirs, strict=True))
        found[CANDIDATE] = tuple(sample + late for sample in found[CANDIDATE])
        # The strongest is the fastest of this very run, so that no lucky ranking flatters.
        medians = {n: statistics.median(s) for n, s in found.items() if n != CANDIDATE}
        strongest = min(medians, key=medians.__getitem__)
        return Timing(found, strongest=strongest, clock="parent", cache=cache)
