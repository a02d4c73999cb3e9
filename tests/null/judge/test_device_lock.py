"""The device lock: many share it, one holds it exclusively, and nobody waits for a build."""

import tempfile
import threading
import time

import pytest

from kernelwright.judge.sandbox import protocol
from kernelwright.judge.scheduling import device_lock


@pytest.fixture
def device(tmp_path):
    return device_lock.DeviceLock("cpu", folder=tmp_path)


def test_many_share_the_device(device):
    with device.shared() as one, device.shared() as other:
        assert not one.is_wanted() and not other.is_wanted()


def test_a_measuring_thread_is_alone_and_the_others_come_back_after_it(device):
    order = []

    def measure():
        with device.exclusive():
            order.append("measures")
            time.sleep(0.05)
            order.append("is done")

    with device.shared() as hold:
        thread = threading.Thread(target=measure)
        thread.start()
        while not hold.is_wanted():
            time.sleep(0.001)
        assert order == []  # it waits for this hold
        assert hold.step_aside(1) >= 0.04 and hold.waited_s >= 0.04
        assert order == ["measures", "is done"]
        thread.join()
        assert not hold.is_wanted()


def test_nobody_new_gets_the_device_while_somebody_waits_to_measure(device):
    order = []

    def measure():
        with device.exclusive():
            order.append("measured")

    def build():
        with device.shared():
            order.append("built")

    with device.shared() as hold:
        threads = [threading.Thread(target=measure)]
        threads[0].start()
        while not hold.is_wanted():
            time.sleep(0.001)
        threads.append(threading.Thread(target=build))
        threads[1].start()
        time.sleep(0.02)
        assert order == []
    for thread in threads:
        thread.join()
    assert order == ["measured", "built"]


def test_no_more_judges_than_memory_slots(device):
    def sit():
        with device.memory_slots(2, n_slots=3):
            pass

    with device.memory_slots(1, n_slots=3), device.memory_slots(1, n_slots=3):
        waiting = threading.Thread(target=sit, daemon=True)
        waiting.start()
        waiting.join(timeout=0.2)
        assert waiting.is_alive()
    waiting.join(timeout=5)
    assert not waiting.is_alive()


def needs(device, n_wanted):
    """A judge in another thread that waits for slots and gives them back at once."""

    def sit():
        with device.memory_slots(n_wanted, n_slots=3):
            pass

    thread = threading.Thread(target=sit, daemon=True)
    thread.start()
    thread.join(timeout=0.2)
    return thread


def test_a_judge_that_waits_for_many_slots_lets_small_ones_pass_for_a_while(device, monkeypatch):
    with device.memory_slots(1, n_slots=3):
        large = needs(device, 3)
        assert large.is_alive() and not needs(device, 1).is_alive()
        monkeypatch.setattr(device_lock, "PATIENCE_S", 0.0)
        impatient = needs(device, 3)
        small = needs(device, 1)
        assert impatient.is_alive() and small.is_alive()
    for thread in (large, impatient, small):
        thread.join(timeout=5)
        assert not thread.is_alive()


def test_a_judge_that_needs_more_slots_than_there_are_gets_them_all(device):
    with device.memory_slots(9, n_slots=2):
        pass


def test_measuring_waits_until_the_device_is_at_rest(tmp_path):
    answers = iter([False, False, True])
    with device_lock.DeviceLock("cuda:0", lambda: next(answers), folder=tmp_path).exclusive():
        assert next(answers, None) is None


def test_a_device_that_never_rests_stops_nobody_for_good(tmp_path, monkeypatch):
    monkeypatch.setattr(device_lock, "SETTLE_S", 0.01)
    monkeypatch.setattr(device_lock, "N_TRIES", 2)
    asked = []
    with device_lock.DeviceLock(
        "cuda:0", lambda: asked.append("at rest?"), folder=tmp_path
    ).exclusive():
        assert asked


def test_a_stopped_process_that_the_device_works_on_for_is_ended_and_no_other(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(device_lock, "ENDLESS_S", 0.1)
    device = device_lock.DeviceLock("cuda:0", works_for=lambda pid: pid == 7, folder=tmp_path)
    is_measured = threading.Event()

    def measure():
        with device.exclusive():
            is_measured.wait()

    thread = threading.Thread(target=measure, daemon=True)
    with device.shared() as endless, device.shared() as patient:
        thread.start()
        while not patient.is_wanted():
            time.sleep(0.001)
        patient.release()
        with pytest.raises(protocol.Late, match="while it stood still"):
            endless.step_aside(7)  # though the other one still measures
        threading.Timer(0.2, is_measured.set).start()
        assert patient.step_aside(8) > 0.1
    thread.join()


def test_a_thread_that_holds_the_device_exclusively_may_build(tmp_path):
    device = device_lock.DeviceLock("cuda:0", folder=tmp_path)
    with device.exclusive(), device.shared() as hold:
        assert hold is None


def test_a_link_in_a_locks_place_is_not_followed(tmp_path):
    """Anybody may put one into the folder for temporary files."""
    device, target = device_lock.DeviceLock("cpu", folder=tmp_path), tmp_path / "target"
    device._files.retry.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"), device.retrying():
        pass
    assert not target.exists()


def test_judges_with_temporary_folders_of_their_own_share_one_lock(monkeypatch, tmp_path):
    """Clusters give each job its own TMPDIR: two jobs timed on one GPU at the same time."""
    of_one_job = device_lock.DeviceLock("cuda:0")._files.device
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert device_lock.DeviceLock("cuda:0")._files.device == of_one_job
