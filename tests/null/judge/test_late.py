"""Work that is put off until the clock has stopped counts; a noisy copy accuses nobody."""

import random

import pytest

from kernelwright.core.outcome import Status
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.calls import Window
from kernelwright.judge.timing.series import Series, late_ns

CALL_NS = 100_000


def copies(draw, n, late=0):
    """A copy takes about 80 µs, and now and then a neighbour makes it take milliseconds."""
    noise = [draw.gauss(80_000, 4_000) for _ in range(n)]
    return [int(ns + late + (3e6 if draw.random() < 0.1 else 0)) for ns in noise]


def test_an_honest_candidate_is_charged_next_to_nothing():
    draw = random.Random(1)
    charged = [late_ns(copies(draw, 14), copies(draw, 14), CALL_NS) for _ in range(500)]
    assert sum(ns > 0 for ns in charged) < 0.05 * 500
    assert max(charged) < 8_000


@pytest.mark.parametrize("n", [7, 20])
def test_work_that_was_put_off_is_added(n):
    draw = random.Random(1)
    charged = sorted(late_ns(copies(draw, n, 30_000), copies(draw, n), CALL_NS) for _ in range(200))
    assert charged[100] > 28_000  # of seven one may hide it


def test_much_late_work_is_tampering_despite_slow_copies_of_a_baseline():
    draw = random.Random(1)
    with pytest.raises(Refused) as refused:
        late_ns(copies(draw, 14, 200_000), copies(draw, 14), CALL_NS)
    assert refused.value.status is Status.TAMPERED


def test_a_slow_copy_from_a_core_that_slept_is_charged_and_not_refused():
    draw = random.Random(1)
    charged = late_ns(copies(draw, 14, 90_000), copies(draw, 14), 20_000_000)
    assert charged > 60_000


def test_without_copies_there_is_nothing_to_say():
    assert late_ns([], [], CALL_NS) == 0


@pytest.mark.parametrize("compared", ["eager", "compile"])
def test_late_work_counts_against_whichever_baseline_runs(compared):
    """Eager may fail to run on a device on which compiled code runs."""
    draw, series = random.Random(1), Series({"candidate": [], compared: []}, compared)
    for mine, theirs in zip(copies(draw, 14, 30_000), copies(draw, 14), strict=True):
        waits = {"candidate": (mine, 900), compared: (theirs, 900)}
        series.add({name: Window(400_000, 4, {}, [], wait) for name, wait in waits.items()})
    found = series.timing("cold")
    assert found.strongest == compared
    assert min(found.samples_ns["candidate"]) > 105_000  # a fourth of it, in each of four calls
    assert found.calls == {"candidate": 4, compared: 4}
