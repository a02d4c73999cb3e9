"""A library setting that fails is no candidate's fault, is tried again, and leaves no files."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from tests.host.relu_task import TASK as SOURCE

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.baselines import library_settings
from kernelwright.judge.baselines.starting import SettingStarter
from kernelwright.judge.refusal import Refused
from kernelwright.judge.scheduling.device_lock import DeviceLock

TASK = Task("relu", "builtin", SOURCE)
LACKED = "run: OutOfMemoryError: CUDA out of memory."
NO_MEMORY = Refused(ReasonCode.RAISED, LACKED)
NO_ANSWER = Refused(ReasonCode.NO_ANSWER, "no answer within 180 s (build)")
SHORT = Reason(ReasonCode.DEVICE_MEMORY_SHORT, LACKED)
CANDIDATE = Candidate(SOURCE + "\nModelNew = Model\n", "torch")
pytestmark = pytest.mark.usefixtures("few_settings")


def test_a_killed_setting_is_started_again_and_no_candidate_is_blamed(fork_server):
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as judge:
        assert judge.evaluate(CANDIDATE).status is Status.PASSED
        judge._baselines.fastest().child.kill()
        found = judge.evaluate(CANDIDATE)
    assert found.status is Status.PASSED
    assert {"eager", "compile"} <= set(found.timing.samples_ns)


@pytest.fixture
def why():
    return NO_MEMORY


@pytest.fixture
def failed(monkeypatch, why):
    """Have compile fail the first time; the settings that did."""
    start, failed = SettingStarter._start_one, []

    def start_at_second(self, setting, *beside):
        if setting.name == "compile" and not failed:
            failed.append(setting)
            raise why
        return start(self, setting, *beside)

    monkeypatch.setattr(SettingStarter, "_start_one", start_at_second)
    return failed


@pytest.mark.parametrize("why", [NO_MEMORY, NO_ANSWER], ids=["memory", "time"])
def test_one_that_a_candidate_left_nothing_is_tried_again_before_a_verdict(failed, fork_server):
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as judge:
        found = judge.evaluate(CANDIDATE)
    assert failed and "compile" in found.timing.samples_ns
    assert not any("not measured" in warning.detail for warning in found.warnings)


def test_memory_that_a_candidate_lacked_too_costs_no_verdict(failed, monkeypatch, fork_server):
    """Somebody held all of it: the candidate found that in its checks, settings as they began."""
    judge_it = Judge._judge

    def lacks_memory_at_first(self, candidate, **options):
        if failed:
            return judge_it(self, candidate, **options)
        self._baselines.wait()
        found = judge_it(self, candidate, **options | {"timed": False})
        return dataclasses.replace(found, status=Status.RUNTIME_ERROR, reasons=(SHORT,))

    monkeypatch.setattr(Judge, "_judge", lacks_memory_at_first)
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as judge:
        found = judge.evaluate(CANDIDATE)
    assert found.status is Status.PASSED, found.why
    assert "compile" in found.timing.samples_ns


def test_one_that_never_finds_memory_is_done_without(monkeypatch, fork_server):
    start = SettingStarter._start_one

    def fail(self, setting, *beside):
        if setting.name == "compile":
            raise Refused(ReasonCode.RAISED, LACKED)
        return start(self, setting, *beside)

    monkeypatch.setattr(SettingStarter, "_start_one", fail)
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as judge:
        found, again = judge.evaluate(CANDIDATE), judge.evaluate(CANDIDATE)
    assert found.status is again.status is Status.PASSED
    assert any("compile was not measured" in warning.detail for warning in again.warnings)


def test_a_candidate_that_lacked_memory_is_judged_again_while_no_other_is(monkeypatch, fork_server):
    judge_it, held_up = Judge._judge, []

    def retry(unit):
        with DeviceLock(unit).retrying():  # as another judge of this device
            pass

    def lacks_memory_at_first(self, candidate, **options):
        unit = self.machine.backend.unit
        waiting = threading.Thread(target=retry, args=(unit,), daemon=True)
        waiting.start()
        waiting.join(0.5 if held_up else 60)  # the first time nobody keeps it
        held_up.append(waiting.is_alive())
        found = judge_it(self, candidate, **options)
        if len(held_up) > 1:
            return found
        return dataclasses.replace(found, status=Status.RUNTIME_ERROR, reasons=(SHORT,))

    monkeypatch.setattr(Judge, "_judge", lacks_memory_at_first)
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as judge:
        found = judge.evaluate(CANDIDATE, timed=False)
    assert found.status is Status.PASSED and held_up == [False, True]


def test_a_library_whose_linking_was_killed_is_built_anew(tmp_path, monkeypatch, fork_server):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings = Settings(threads=1)
    with Judge(TASK, settings=settings, fork_server=fork_server) as judge:
        assert "compile" in judge.evaluate(CANDIDATE).timing.samples_ns
    libraries = list(tmp_path.glob("kernelwright/baselines-*/??/*.so"))
    assert libraries
    for library in libraries:  # as it is when g++ and inductor are killed
        library.write_bytes(b"")
        library.with_name(f"{library.stem}_CxxBuild").mkdir()
    with Judge(TASK, settings=settings, fork_server=fork_server) as judge:
        assert "compile" in judge.evaluate(CANDIDATE).timing.samples_ns


def test_a_judge_that_ends_leaves_no_folder_in_the_compilers_cache(
    tmp_path, monkeypatch, fork_server
):
    """Each of its library settings left one: 8,000 lay there after a day."""
    eager = [s for s in library_settings.settings_of("cpu", "") if s.name == "eager"]
    monkeypatch.setattr(library_settings, "settings_of", lambda *_, **__: eager)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as judge:
        assert judge.evaluate(CANDIDATE).status is Status.PASSED
        assert list(tmp_path.glob("kernelwright/baselines-*/tmp*/candidate.py"))
    assert not list(tmp_path.glob("kernelwright/baselines-*/tmp*"))
