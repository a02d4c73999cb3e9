"""Whose turn it is: many side by side, one alone, and nobody waits for a build."""

import threading
import time

import pytest

from kernelwright.judge.children import locks, turns, wire


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path))
    return turns.Turns("cpu")


def test_many_sit_side_by_side(room):
    with room.beside() as one, room.beside() as other:
        assert not one.is_wanted() and not other.is_wanted()


def test_who_measures_is_alone_and_those_inside_come_back_after_it(room):
    told = []

    def measure():
        with room.alone():
            told.append("measures")
            time.sleep(0.05)
            told.append("is done")

    with room.beside() as seat:
        thread = threading.Thread(target=measure)
        thread.start()
        while not seat.is_wanted():
            time.sleep(0.001)
        assert told == []  # it waits for this seat
        assert seat.step_aside(1) >= 0.04 and seat.waited_s >= 0.04
        assert told == ["measures", "is done"]
        thread.join()
        assert not seat.is_wanted()


def test_nobody_new_comes_in_while_somebody_waits_to_measure(room):
    order = []

    def measure():
        with room.alone():
            order.append("measured")

    def build():
        with room.beside():
            order.append("built")

    with room.beside() as seat:
        threads = [threading.Thread(target=measure)]
        threads[0].start()
        while not seat.is_wanted():
            time.sleep(0.001)
        threads.append(threading.Thread(target=build))
        threads[1].start()
        time.sleep(0.02)
        assert order == []
    for thread in threads:
        thread.join()
    assert order == ["measured", "built"]


def test_no_more_judges_than_chairs(room):
    def sit():
        with room.chairs(2, n_chairs=3):
            pass

    with room.chairs(1, n_chairs=3), room.chairs(1, n_chairs=3):
        waiting = threading.Thread(target=sit, daemon=True)
        waiting.start()
        waiting.join(timeout=0.2)
        assert waiting.is_alive()
    waiting.join(timeout=5)
    assert not waiting.is_alive()


def test_who_needs_more_chairs_than_there_are_gets_them_all(room):
    with room.chairs(9, n_chairs=2):
        pass


def test_measuring_waits_until_the_device_is_at_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path))
    answers = iter([False, False, True])
    with turns.Turns("cuda:0", lambda: next(answers)).alone():
        assert next(answers, None) is None


def test_a_device_that_never_rests_stops_nobody_for_good(tmp_path, monkeypatch):
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(turns, "SETTLE_S", 0.01)
    monkeypatch.setattr(turns, "N_TRIES", 2)
    asked = []
    with turns.Turns("cuda:0", lambda: asked.append("at rest?")).alone():
        assert asked


def test_what_works_on_for_a_stopped_process_is_ended_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(turns, "WORKS_ON_S", 0.1)
    room = turns.Turns("cuda:0", works_for=lambda pid: pid == 7)
    is_measured = threading.Event()

    def measure():
        with room.alone():
            is_measured.wait()

    thread = threading.Thread(target=measure, daemon=True)
    with room.beside() as endless, room.beside() as patient:
        thread.start()
        while not patient.is_wanted():
            time.sleep(0.001)
        patient.leave()
        with pytest.raises(wire.Late, match="while it stood still"):
            endless.step_aside(7)  # though the other one still measures
        threading.Timer(0.2, is_measured.set).start()
        assert patient.step_aside(8) > 0.1
    thread.join()


def test_whoever_is_alone_may_build():
    room = turns.Turns("cuda:0")
    with room.alone(), room.beside() as seat:
        assert seat is None


def test_a_link_in_a_locks_place_is_not_followed(tmp_path, monkeypatch):
    """Anybody may put one into the folder for temporary files."""
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path))
    room, target = turns.Turns("cpu"), tmp_path / "target"
    room._once_more.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"), room.again():
        pass
    assert not target.exists()
