"""Work that a GPU does for a candidate that stands still.

The candidate's process is stopped between calls, but work that it has started on the device is not.
A stream may wait for the next inputs, which the judge writes before the clock starts, and have the
result ready when it does; or a kernel keeps the device from the baselines until the inputs come.
One call shows neither. So before some calls, drawn at random and not timed, the judge looks whether
the device works for anybody, once before the inputs are written and once after. A device that works
for others, such as a display, does so as often before as after; work for a candidate that waits for
these inputs does not.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import ReasonCode, Warned, WarningCode
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.refusal import Refused

SHARE, FEWEST = 0.25, 4
"""The share of rounds in which the device is watched, and the fewest of the first ones."""
TELLING_SHARE = 0.25
"""The share of the watched calls that must show background work."""
NO_DOUBT, CONTRARY = 12, 4
"""The calls that must show it, and how many more for each call that shows the contrary: where
either is as likely, the first twelve agree in one verdict of 2,000."""
MOST_WATCHED = 48
SLOWER = 1.25
"""The factor by which a neighbour may slow the library down: more would be no noise."""


class Disturbed(DeviceError):
    """The device works for others, so that the library's times are not its own."""


class BackgroundWorkDetector:
    """Watches the device before calls of one candidate.

    Not covered:
        Kernels that work all the time until the call itself: other programs' kernels do so too, and
        a warning says so.
    """

    def __init__(self, backend: DeviceBackend, rng: random.Random, n_rounds: int) -> None:
        self._backend, self._rng = backend, rng
        self._n_rounds_left = n_rounds
        self.n_watched = self.n_before = self.n_after = self.n_both = 0
        """Watched calls, and those where the device worked for somebody before the inputs came, but
        not after that; after that, but not before; or both."""

    def is_due(self) -> bool:
        """True if the device is to be watched now."""
        if self._backend.kind == "cpu":
            return False
        left, self._n_rounds_left = max(1, self._n_rounds_left), self._n_rounds_left - 1
        share = 1.0 if self.is_open() else max(SHARE, (FEWEST - self.n_watched) / left)
        return self._rng.random() < share

    def watch(self, put: Callable[[], None]) -> None:
        """Watch, while the candidate stands still, before its inputs are ``put`` and after.

        Raises:
            Refused: the device works for the candidate after that, or until then.
        """
        was_busy = self._backend.works_for_others()
        is_busy = self._backend.works_for_others(put)
        if was_busy:  # work that ended with that was still seen
            is_busy = self._backend.works_for_others()
        self.n_watched += 1
        self.n_before += was_busy and not is_busy
        self.n_after += is_busy and not was_busy
        self.n_both += is_busy and was_busy
        least, most = sorted((self.n_before, self.n_after))
        if most < max(NO_DOUBT + CONTRARY * least, TELLING_SHARE * self.n_watched):
            return
        when = "from then on" if most == self.n_after else "until then"
        raise Refused(
            ReasonCode.WORKED_BETWEEN_CALLS,
            f"the device works for it while it waits for its inputs, {when}: in {most} of "
            f"{self.n_watched} calls that were watched",
        )

    def is_open(self) -> bool:
        """True if more calls must be watched before anything can be said."""
        least, most = sorted((self.n_before, self.n_after))
        is_likely = most > 2 * least and most >= TELLING_SHARE * self.n_watched
        return is_likely and self.n_watched < MOST_WATCHED

    def warnings(self) -> list[Warned]:
        """A warning where the device works for somebody all the time."""
        if not self._is_disturbed():
            return []
        where = f"in {self.n_both} of {self.n_watched} looks"
        seen = f"the device works for somebody while nobody is called, {where}: times are longer"
        return [Warned(WarningCode.DEVICE_BUSY, seen)]

    def require_rest(self, library_ns: float, usual_ns: float) -> None:
        """Check that background work has not slowed the library down in the rounds, compared to its
        time before them, without any candidate: whatever did it, the ratio is not the candidate's.

        Raises:
            Disturbed: it has.
        """
        if self._is_disturbed() and library_ns > SLOWER * usual_ns:
            raise Disturbed(
                "the device works for another program while nobody is called",
                seen=f"in {self.n_both} of {self.n_watched} looks; the library takes "
                f"{library_ns / usual_ns:.1f} times as long as before",
                do="end what else runs on the device, or judge again later",
            )

    def _is_disturbed(self) -> bool:
        return self.n_both > 0 and self.n_both >= TELLING_SHARE * self.n_watched
