"""What rounds of timed calls gave, series by series."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from kernelwright.core.evaluation import CANDIDATE, Timing
from kernelwright.judge.baselines import EAGER
from kernelwright.judge.late import late_ns
from kernelwright.judge.runner import Call, Runner


@dataclass
class Series:
    """The times of the candidate and of every baseline, in the order of the rounds."""

    samples_ns: dict[str, list[int]]
    copies_ns: dict[str, list[int]] = field(default_factory=lambda: {CANDIDATE: [], EAGER: []})
    """How long the outputs of the same calls took to copy, where children copy them."""

    def add(self, name: str, call: Call, runner: Runner) -> None:
        """Note a call that ``runner`` has just made."""
        self.samples_ns[name].append(call.elapsed_ns)
        if name in self.copies_ns:
            self.copies_ns[name] += runner.copy_ns[-1:]

    def timing(self, cache: str) -> Timing:
        """The whole, with work that the candidate had put off added to its times."""
        late = late_ns(self.copies_ns[CANDIDATE], self.copies_ns[EAGER])
        found = {name: tuple(samples) for name, samples in self.samples_ns.items()}
        found[CANDIDATE] = tuple(sample + late for sample in found[CANDIDATE])
        # The strongest is the fastest of this very run, so that no lucky ranking flatters.
        medians = {n: statistics.median(s) for n, s in found.items() if n != CANDIDATE}
        strongest = min(medians, key=medians.__getitem__)
        return Timing(found, strongest=strongest, clock="parent", cache=cache)
