"""The times of all rounds, with work that a candidate put off until after its answer.

On a GPU the clock stops when the child answers. The judge then waits for the device to come to
rest (``devices/input_poisoner.py``), and the child copies its outputs out. Work that it had put off
delays one of the two. A baseline's waits in the same rounds say how long each takes; the time by
which a candidate's take longer, if they do so in nearly every round, is added to its time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.core.evaluation import CANDIDATE, Timing, median_interval
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.calls import Window

LATE_NS, LATE_SHARE, CALL_SHARE = 50_000, 0.5, 0.01
"""No doubt is left where a candidate's wait is longer by more than the first, by this share of a
baseline's wait and by this share of the candidate's own calls: noise of request and reply is less.
After a call that slept for 20 ms the same copy took 60 µs more on an idle core; and a candidate
that puts off less than a hundredth of its work has nothing to hide."""


@dataclass
class Series:
    """The times of the candidate and of every baseline, in the order of the rounds."""

    samples_ns: dict[str, list[int]]
    compared: str
    """The baseline whose outputs are taken as the candidate's are."""
    is_queued: bool = False
    """As for ``Timing``."""
    n_calls: dict[str, int] = field(default_factory=dict)
    """The calls in a window, by name."""
    latency_ns: dict[str, list[int]] = field(default_factory=dict)
    """The times of single calls that were waited for, where windows have several."""
    after_ns: dict[str, list[tuple[int, ...]]] = field(init=False)
    """Times measured after the same windows, where children copy their outputs."""

    def __post_init__(self) -> None:
        self.after_ns = {CANDIDATE: [], self.compared: []}

    def add(self, windows: Mapping[str, Window]) -> None:
        """Record a round's windows."""
        for name, window in windows.items():
            self.samples_ns[name].append(max(1, round(window.call_ns)))
            self.n_calls[name] = window.n_calls
            if window.after_ns:
                self.after_ns[name].append(window.after_ns)

    def timing(self, cache: str, floor_ns: Callable[[int], float] = lambda n_calls: 0.0) -> Timing:
        """All times, with work that the candidate had put off added to its own. ``floor_ns``: the
        time of an empty call in a window of so many.

        Raises:
            Refused: as for ``late_ns``.
        """
        pair = (CANDIDATE, self.compared)
        mine, theirs = (zip(*self.after_ns[name], strict=True) for name in pair)
        found = {name: tuple(samples) for name, samples in self.samples_ns.items()}
        n_calls = self.n_calls[CANDIDATE]
        window_ns = statistics.median(found[CANDIDATE]) * n_calls
        late = sum(late_ns(a, b, window_ns) for a, b in zip(mine, theirs, strict=True))
        found[CANDIDATE] = tuple(sample + round(late / n_calls) for sample in found[CANDIDATE])
        # The strongest is the fastest of this very run, so that no lucky ranking flatters.
        medians = {n: statistics.median(s) for n, s in found.items() if n != CANDIDATE}
        strongest = min(medians, key=medians.__getitem__)
        return Timing(
            found,
            strongest=strongest,
            clock="parent",
            cache=cache,
            calls=dict(self.n_calls),
            latency_ns={name: tuple(samples) for name, samples in self.latency_ns.items()},
            floor_ns=floor_ns(n_calls),
            is_queued=self.is_queued,
        )


def late_ns(mine: Sequence[int], theirs: Sequence[int], call_ns: float) -> int:
    """By how much a candidate's waits outlast a baseline's of the same rounds; 0 if by chance.

    ``call_ns``: the time of its windows.

    Raises:
        Refused: by so much that the work was put off on purpose.
    """
    if not mine or not theirs:
        return 0
    beyond = [a - b for a, b in zip(mine, theirs, strict=True)]
    surely = median_interval(beyond)[0]
    if surely > max(LATE_NS, LATE_SHARE * statistics.median(theirs), CALL_SHARE * call_ns):
        raise Refused(
            ReasonCode.WORKED_AFTER_CALL,
            f"work goes on for {surely / 1e3:.0f} µs after it says that it is done",
        )
    return int(statistics.median(beyond)) if surely > 0 else 0
