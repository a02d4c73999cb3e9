"""What a GPU does for a candidate that stands still.

Its process is stopped between calls, but not what it has started on the device: a stream may wait
for the next inputs, which the judge writes before the clock starts, and have the result ready when
it does; or a kernel keeps the device from the baselines until they come. Neither can be told of one
call. So before some calls, drawn at random and not timed, the judge looks whether the device works
for anybody, once before the inputs are written and once after: whoever works for others, as a
display, does so as often before as after, and whoever waits for these inputs does not.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import ReasonCode, Warned, WarningCode
from kernelwright.judge.machine.place import Place
from kernelwright.judge.refusal import Refused

SHARE, FEWEST = 0.25, 4
"""Of the calls between timed ones, and how many of the first at least."""
SHARE_TOLD = 0.25
"""Of the watched calls, that must tell of it."""
NO_DOUBT, CONTRARY = 12, 4
"""Calls that tell of it, and how many more for each that tells the contrary: where either is as
likely, the first twelve tell the same in one verdict of 2,000."""
MOST_WATCHED = 48
SLOWER = 1.25
"""What a neighbour may cost the library: more would be no noise."""


class Disturbed(DeviceError):
    """The device works for others, and what the library takes is not its own time."""


class Vigil:
    """Watches the device before calls of one candidate.

    Not covered:
        Kernels that work from the start of all on until the call itself: so do others' programs,
        and a warning says so.
    """

    def __init__(self, place: Place, seed: int, n_rounds: int) -> None:
        self._place, self._coin = place, random.Random(seed)
        self._n_rounds_left = n_rounds
        self.n_watched = self.n_before = self.n_after = self.n_both = 0
        """Calls, and those where the device worked for somebody before the inputs came, but not
        after that; after that, but not before; or both."""

    def is_due(self) -> bool:
        """Whether a call is to be watched now."""
        if self._place.kind == "cpu":
            return False
        left, self._n_rounds_left = max(1, self._n_rounds_left), self._n_rounds_left - 1
        share = 1.0 if self.is_open() else max(SHARE, (FEWEST - self.n_watched) / left)
        return self._coin.random() < share

    def watch(self, put: Callable[[], None]) -> None:
        """Look, while the candidate stands still, before its inputs are ``put`` and after.

        Raises:
            Refused: the device works for the candidate then, or until then.
        """
        was_busy = self._place.works_for_others()
        is_busy = self._place.works_for_others(put)
        if was_busy:  # what ended with that was still seen
            is_busy = self._place.works_for_others()
        self.n_watched += 1
        self.n_before += was_busy and not is_busy
        self.n_after += is_busy and not was_busy
        self.n_both += is_busy and was_busy
        least, most = sorted((self.n_before, self.n_after))
        if most < max(NO_DOUBT + CONTRARY * least, SHARE_TOLD * self.n_watched):
            return
        when = "from then on" if most == self.n_after else "until then"
        raise Refused(
            ReasonCode.WORKED_BETWEEN_CALLS,
            f"the device works for it while it waits for its inputs, {when}: in {most} of "
            f"{self.n_watched} calls that were watched",
        )

    def is_open(self) -> bool:
        """Whether more calls are to be watched before anything can be said."""
        least, most = sorted((self.n_before, self.n_after))
        is_likely = most > 2 * least and most >= SHARE_TOLD * self.n_watched
        return is_likely and self.n_watched < MOST_WATCHED

    def warnings(self) -> list[Warned]:
        """What is to be said where the device works for somebody all the time."""
        if not self._is_disturbed():
            return []
        where = f"in {self.n_both} of {self.n_watched} looks"
        told = f"the device works for somebody while nobody is called, {where}: times are longer"
        return [Warned(WarningCode.DEVICE_BUSY, told)]

    def require_rest(self, library_ns: float, usual_ns: float) -> None:
        """Nothing, unless that has changed what the library takes in the rounds from what it took
        before them, without any candidate: whoever did it, the ratio is not the candidate's.

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
        return self.n_both > 0 and self.n_both >= SHARE_TOLD * self.n_watched
