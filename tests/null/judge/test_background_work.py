"""Background work of a GPU while a candidate stands still, with a device that is busy when told."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import Status
from kernelwright.judge.refusal import Refused
from kernelwright.judge.timing.background_work import (
    FEWEST,
    MOST_WATCHED,
    NO_DOUBT,
    BackgroundWorkDetector,
)


class Device:
    kind = "cuda"

    def __init__(self, is_busy: Callable[[bool], bool]) -> None:
        self._is_busy, self.is_written = is_busy, False

    def put(self) -> None:
        self.is_written = True

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        meanwhile()
        return self._is_busy(self.is_written)


def made(device: Device) -> BackgroundWorkDetector:
    return BackgroundWorkDetector(device, random.Random(1), n_rounds=7)


def watched(is_busy: Callable[[bool], bool], n_calls: int) -> BackgroundWorkDetector:
    device = Device(is_busy)
    detector = made(device)
    for _ in range(n_calls):
        device.is_written = False
        detector.watch(device.put)
    return detector


@pytest.mark.parametrize("is_after", [True, False], ids=["early", "burner"])
def test_a_candidate_whose_work_waits_for_its_inputs_is_refused(is_after):
    with pytest.raises(Refused) as refused:
        watched(lambda is_written: is_written is is_after, NO_DOUBT)
    assert refused.value.status is Status.TAMPERED
    assert "from then on" in str(refused.value) if is_after else "until then" in str(refused.value)


def test_one_call_that_shows_the_contrary_saves_no_candidate():
    contrary = iter([True])
    with pytest.raises(Refused):
        watched(lambda is_written: is_written is not next(contrary, False), MOST_WATCHED)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_work_of_others_is_no_candidates_fault(share):
    for seed in range(200):
        coin = random.Random(seed)
        watched(lambda _, coin=coin: coin.random() < share, MOST_WATCHED)


def test_a_library_that_background_work_slows_down_is_no_measure():
    busy, quiet = watched(lambda _: True, 4), watched(lambda _: False, 4)
    assert busy.warnings() and not quiet.warnings()
    with pytest.raises(DeviceError, match=r"works for another program(.|\n)*1.5 times"):
        busy.require_rest(1.5e6, 1.0e6)
    busy.require_rest(1.1e6, 1.0e6)
    quiet.require_rest(1.5e6, 1.0e6)


def test_few_of_the_first_calls_are_watched_and_all_where_something_was_seen():
    quiet = made(Device(lambda _: False))
    n_due = 0
    for _ in range(7):
        if quiet.is_due():
            n_due += 1
            quiet.watch(lambda: None)
    assert n_due >= FEWEST and not quiet.is_open()
    seen = watched(lambda is_written: is_written, 1)
    assert seen.is_open() and all(seen.is_due() for _ in range(20))


def test_nothing_is_watched_on_a_cpu():
    device = Device(lambda _: True)
    device.kind = "cpu"
    assert not any(made(device).is_due() for _ in range(20))
