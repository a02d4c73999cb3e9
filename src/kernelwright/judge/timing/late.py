"""Work that goes on after a candidate has said that it is done, where it copies its outputs itself.

On a GPU the clock stops when the child answers. The judge then waits for the device to come to
rest (spoil.py), and the child copies its outputs out. What it had put off delays one of the two. A
baseline's of the same rounds say how long each takes; what a candidate's take beyond that, where
they do so in nearly every round, is added to its time.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from kernelwright.core.evaluation import median_interval
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.refusal import Refused

LATE_NS, LATE_SHARE, CALL_SHARE = 50_000, 0.5, 0.01
"""Beyond the first, this share of a baseline's and this one of the candidate's own calls, no doubt
is left: noise of request and reply. After a call that slept for 20 ms the same copy took 60 µs more
on an idle core; and who puts off less than a hundredth of its work has nothing to hide."""


def late_ns(mine: Sequence[int], theirs: Sequence[int], call_ns: float) -> int:
    """By how much a candidate's waits outlast a baseline's of the same rounds; 0 where by chance.

    ``call_ns`` is what its calls take.

    Raises:
        Refused: by so much that it was put off on purpose.
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
