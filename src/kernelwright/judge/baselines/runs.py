"""The library settings of one task as runners: ranked once, those that verdicts need are kept."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.core.task import Task
from kernelwright.judge.baselines.library_settings import ALWAYS, EAGER, Setting
from kernelwright.judge.baselines.starting import SettingStarter, Starting, not_measured
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.devices.roofline import LARGE_BYTES, Copying
from kernelwright.judge.machine import Machine
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.judge.sandbox.layout import bytes_of
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.scheduling.memory import does_not_fit
from kernelwright.judge.timing.stopwatch import RunnerFailed, Stopwatch, named

N_QUICK = 5
CROWDED = 20
"""Copies of a task's tensors that judge, candidate and baselines may hold at a time. Where the
device has no room for so many, baselines start one by one, when the checks are done, and those
that lose end at once."""


@dataclass
class _Failures:
    """Settings that do not run."""

    reasons: dict[str, str] = field(default_factory=dict)
    retryable: set[str] = field(default_factory=set)
    """Settings that may run after all: they lacked memory, which a candidate may have held, or have
    been killed."""
    bystanders: set[str] = field(default_factory=set)
    """The retryable settings whose process ended because another setting failed in it."""
    had_last_try: set[str] = field(default_factory=set)
    compiled_anew: set[str] = field(default_factory=set)
    """Settings whose compiler had work again when other inputs came, before any was timed."""


class BaselineRuns:
    """Starts the library settings once, times them once, keeps those that verdicts need."""

    def __init__(
        self,
        task: Task,
        oracle: Oracle,
        machine: Machine,
        stopwatch: Stopwatch,
        *,
        one_by_one: bool = False,
        settings: Sequence[Setting],
    ) -> None:
        self._starter = SettingStarter(task, oracle, machine, settings)
        self._oracle = oracle
        self._stopwatch, self._device_lock = stopwatch, machine.device_lock
        moved_bytes = oracle.profile.work.moved_bytes
        self._copying = Copying(machine.backend, moved_bytes)
        self._waves: Iterable[Starting] = ()
        """Settings that start and are ranked together, until they have; one after the other where
        it is crowded."""
        self._runners: dict[str, Runner] = {}
        self._failures = _Failures()
        self.is_crowded = one_by_one or is_crowded(oracle, machine.backend)
        if self.is_crowded:
            with self._device_lock.shared():
                oracle.inputs.forget_first()
        self._is_measured = self._is_settled = False
        self.median_ns: dict[str, float] = {}
        """The times of a few rounds, by setting; empty until ``measure``."""

    @property
    def dropped(self) -> dict[str, str]:
        """Settings that do not run this task, with the reason."""
        return self._failures.reasons

    @property
    def may_run_after_all(self) -> bool:
        """True if some of those may run in another try."""
        return bool(self._failures.retryable)

    def start(self) -> None:
        """Build and compile every setting beside the first candidate's checks.

        Where memory is scarce they start in ``measure``.
        """
        if self._starter.is_open:
            return
        self._starter.open()
        settings = self._starter.settings.values()
        plain = [setting for setting in settings if not any(setting.copies)]
        copying = [setting for setting in settings if any(setting.copies)]
        first = [plain] if copying else [[setting] for setting in plain]
        together = [*first, *([each] for each in copying)] if self.is_crowded else [[*settings]]
        waves = map(self._submit, together)
        self._waves = waves if self.is_crowded else list(waves)
        if not self.is_crowded:
            self._starter.start_empty()

    def wait(self) -> None:
        """Return when all settings have started or failed. Not covered: where it is crowded."""
        if self._is_measured:
            return
        self.start()
        self._starter.start_empty()
        self._starter.wait_for_empty()
        if not self.is_crowded:
            for starting in self._waves:
                self._collect(starting)

    def measure(self) -> None:
        """Time every setting, once; waits for those that still compile. The device must not be held
        exclusively: a setting that another one's failure ended starts again, by itself.

        Raises:
            DeviceError: none can be measured.
        """
        self.wait()
        if self._is_measured:
            return
        for starting in self._waves:
            self._measure_wave(starting)
            if bystanders := self._failures.bystanders:
                starting |= self._submit_again(bystanders)
                self._measure_wave(starting)
            if self._runners:
                self._close_losers()
        if not self._runners:
            raise DeviceError(
                "no baseline can be measured",
                seen="; ".join(f"{name}: {why[:200]}" for name, why in self.dropped.items()),
                do="run the task by itself on this machine and see what fails",
            )
        self._is_measured = True

    def _measure_wave(self, starting: Starting) -> None:
        """Time the settings that start, beside those that run."""
        self._collect(starting)
        with self._device_lock.exclusive():
            if (empty := self._starter.take_empty()) is not None:
                self._calibrate(empty)
            self._rank()
            self._copying.measure()

    def lose(self, failed: RunnerFailed) -> DeviceError | None:
        """End a setting that failed while a candidate was timed; the error for its verdict. None
        for a setting that compiles anew for other inputs: no verdict needs one that takes so
        long."""
        name, reason = failed.name, str(failed.refused)
        others = self._end(name)
        self._is_measured = False
        if name in self._failures.compiled_anew and failed.refused.status is Status.TIMEOUT:
            self.dropped[name] = f"it compiles anew for other inputs: {reason}"
        else:
            self._drop(name, failed.refused)
            others.append(name)
        return _may_run_error(others, reason) if others else None

    def require_all(self) -> None:
        """Check that no setting awaits another try: never time against an incomplete set.

        Raises:
            DeviceError: one does.
        """
        if names := sorted(self._failures.retryable):
            raise _may_run_error(names, "; ".join(self.dropped[name][:200] for name in names))

    def excuse(self) -> None:
        """The candidate is not to blame for the failed settings: their next try is the last."""
        self._failures.had_last_try |= self._failures.retryable

    def start_again(self) -> None:
        """Start settings that may run after all once more, and measure all anew. The device must
        not be held exclusively."""
        if not (again := self._failures.retryable):
            return
        for starting in self._waves:
            starting |= self._submit_again(again)
        self._is_measured = self._is_settled = False

    def settle_in(self) -> None:
        """Call the setting that a candidate's results are compared with until its memory is at
        rest, once, while results are held. The device must be held exclusively."""
        if self._is_settled:
            return
        self._is_settled = True
        name = self.compared
        with named(name):
            self._stopwatch.settle_in(self._runners[name])

    @property
    def compared(self) -> str:
        """The setting whose results a candidate's are compared with, and which holds results for as
        long as the candidate does."""
        strongest = self.strongest
        return EAGER if EAGER in self._runners else strongest

    @property
    def strongest(self) -> str:
        """The fastest setting."""
        self.measure()
        return self._fastest_name()

    def copying(self) -> dict[str, float]:
        """The bytes that the task moves and the rate at which the device copies; empty before
        ``measure``."""
        return self._copying.facts()

    def nothing_to_win(self) -> dict[str, Any]:
        """Why no candidate can be much faster than these, with their times; empty if one can.

        A degenerate task, whose inputs need not all be read, is not looked at.
        """
        if self._oracle.profile.warnings or self._copying.moved_bytes < LARGE_BYTES:
            return {}
        strongest = self.strongest
        if not (why := self._copying.leaves_nothing(self.median_ns[strongest])):
            return {}
        measured = {"baseline_ns": self.median_ns, "dropped": self.dropped}
        return {"why": f"{strongest} {why}", "strongest": strongest, **measured}

    def fastest(self) -> Runner:
        """The fastest setting, running."""
        return self._runners[self.strongest]

    def kept(self) -> dict[str, Runner]:
        """The settings that every candidate is timed beside."""
        return dict(self._runners)

    def close(self) -> None:
        """End them and give their memory back."""
        self._starter.close()

    def _fastest_name(self) -> str:
        """The fastest of those that still run: a loser has ended, however slow others are later."""
        return min(self._runners, key=self.median_ns.__getitem__)

    def _end(self, name: str) -> list[str]:
        """End the process of a setting that failed in it. The others that it held, which may run in
        another one, await another try."""
        failed = self._runners.pop(name)
        failed.end()
        others = [one for one, other in self._runners.items() if other.child is failed.child]
        for one in others:
            self._runners.pop(one).end()
            self._put_off_bystander(one, f"{name} failed in the same process")
        return others

    def _put_off(self, name: str, why: str) -> None:
        """Do without a setting until another try, unless it has had the last one."""
        self.dropped[name] = why
        if name not in self._failures.had_last_try:
            self._failures.retryable.add(name)

    def _put_off_bystander(self, name: str, why: str) -> None:
        """Do without a setting until it has a process of its own."""
        self._put_off(name, why)
        self._failures.bystanders |= self._failures.retryable & {name}

    def _drop(self, name: str, refused: Refused) -> None:
        may_run = name in self.median_ns or refused.says_no_memory
        if may_run and not self.is_crowded:
            self._put_off(name, str(refused))
        else:
            self.dropped[name] = str(refused)

    def _collect(self, starting: Starting) -> None:
        """Wait for settings that start, and warm up those that compile."""
        # All of them first: they share the memory that other inputs are now written to.
        self._starter.wait_for(starting)
        for name, future in list(starting.items()):
            try:
                self._runners[name] = future.result()
            except Refused as refused:
                self._drop(name, refused)
            else:
                self._warm_up(name)
            del starting[name]

    def _warm_up(self, name: str) -> None:
        """Warm up a setting that compiles; drop one that fails at that."""
        runner = self._runners[name]
        if runner.has_ended:
            del self._runners[name]
            self._put_off_bystander(name, "another setting failed in the same process")
            return
        try:
            is_compiled = self._starter.settings[name].compile is not None
            if is_compiled and self._starter.warm_up(runner):
                self._failures.compiled_anew.add(name)
        except Refused as refused:
            if refused.code is ReasonCode.KEEPS_COMPILING:
                self._runners.pop(name).close()
            else:
                self._end(name)
            self._drop(name, refused)

    def _submit(self, settings: Sequence[Setting], *, share: bool = True) -> Starting:
        """Start the settings that may be the fastest; where memory is not scarce, those that may
        ``share`` a process in one."""
        hopeful = (setting for setting in settings if not self._is_hopeless(setting))
        return self._starter.start(hopeful, share=share and not self.is_crowded)

    def _submit_again(self, names: Iterable[str]) -> Starting:
        """Start settings that were put off, each in a process of its own."""
        names = sorted(names)
        for name in names:
            del self.dropped[name]
        self._failures.retryable.difference_update(names)
        self._failures.bystanders.difference_update(names)
        return self._submit([self._starter.settings[name] for name in names], share=False)

    def _is_hopeless(self, setting: Setting) -> bool:
        """True if its copies alone take longer than another setting does in all."""
        fastest_ns = min(self.median_ns.values(), default=math.inf)
        if fastest_ns == math.inf or not any(setting.copies):
            return False
        oracle = self._oracle
        n_inputs, n_outputs = map(bytes_of, (oracle.first_arguments, oracle.example))
        times_in, times_out = setting.copies
        copied = 2 * (times_in * n_inputs + times_out * n_outputs)
        least_ns = self._copying.least_ns(copied + n_inputs + n_outputs)
        if least_ns < fastest_ns:
            return False
        self.dropped[setting.name] = (
            f"with its copies it takes {least_ns / 1e6:.2f} ms at least, and another "
            f"{fastest_ns / 1e6:.2f}"
        )
        return True

    def _calibrate(self, empty: Runner) -> None:
        """Measure the cost of a call that does nothing; verdicts say it."""
        with contextlib.closing(empty), not_measured():
            self._stopwatch.calibrate(empty)

    def _rank(self) -> None:
        """Time those that run, together; the ones that cannot be measured are dropped."""
        while self._runners:
            try:
                with memory_apart():
                    self.median_ns |= self._stopwatch.rank(self._runners, N_QUICK)
                return
            except MemoryError as error:
                raise does_not_fit(self._starter.task, error) from error
            except RunnerFailed as failed:
                gone = [failed.name, *self._end(failed.name)]
                self._drop(failed.name, failed.refused)
                for name in gone:
                    self.median_ns.pop(name, None)

    def _close_losers(self) -> None:
        """End settings that no verdict needs: they hold memory."""
        for name in set(self._runners) - {*ALWAYS, self._fastest_name()}:
            self._runners.pop(name).close()


def is_crowded(oracle: Oracle, backend: DeviceBackend) -> bool:
    """True if the device has no room for CROWDED copies of a task's tensors."""
    return CROWDED * oracle.profile.work.moved_bytes > backend.memory_bytes()


def _may_run_error(names: Sequence[str], why: str) -> DeviceError:
    return DeviceError(
        f"library settings failed that may run after all: {', '.join(names)}",
        seen=why,
        do="judge it again; see whether other programs use this device's memory",
    )
