"""The library settings of one task as runners: built and compiled beside other work, then ranked
alone."""

from __future__ import annotations

import collections
import contextlib
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.judge import baselines
from kernelwright.judge.children.children import Children
from kernelwright.judge.children.compiler_cache import compiler_cache, folder_in
from kernelwright.judge.children.program import Program
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.children.turns import Turns
from kernelwright.judge.machine.layout import bytes_of, dtype_name, plan_slots
from kernelwright.judge.machine.place import Place
from kernelwright.judge.machine.region import Region, contents
from kernelwright.judge.machine.roofline import LARGE_BYTES, Copying
from kernelwright.judge.machine.room import no_memory
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.preparation import BUILD_LIMIT_S, FIRST_CALL_LIMIT_S, build
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.judge.timing.rounds import RunnerFailed, Stopwatch, named
from kernelwright.judge.warming import Starting, closed_if_refused, wait_for, warm_up

N_QUICK = 5
CROWDED = 16
"""Copies of a task's tensors that judge, candidate and baselines may hold at a time. Where the
device has no room for so many, baselines start one by one, when the checks are done, and those
that lose end at once."""


class BaselineRuns:
    """Starts the library settings once, times them once, keeps those that verdicts need."""

    def __init__(
        self,
        task: Task,
        place: Place,
        *,
        children: Children,
        oracle: Oracle,
        stopwatch: Stopwatch,
        turns: Turns,
        one_by_one: bool = False,
    ) -> None:
        self._task, self._place = task, place
        self._settings = {s.name: s for s in baselines.settings(place.kind, task.precision)}
        self._children, self._oracle = children, oracle
        self._stopwatch, self._turns = stopwatch, turns
        self._copying = Copying(place, oracle.profile.work.moved_bytes)
        self._compiling = collections.defaultdict(threading.Lock)
        self._stack = ExitStack()
        self._region: Region | None = None
        self._waves: Iterable[Starting] = ()
        """Settings that start and are ranked together, until they have; one after the other where
        it is crowded."""
        self._runners: dict[str, Runner] = {}
        self._empty: Runner | None = None
        self._is_settled = False
        self.is_crowded = (
            one_by_one or CROWDED * oracle.profile.work.moved_bytes > place.memory_bytes()
        )
        if self.is_crowded:
            with turns.beside():
                oracle.inputs.forget_first()
        self._is_measured = False
        self.median_ns: dict[str, float] = {}
        """By setting, of a few rounds; empty until ``measure``."""
        self.dropped: dict[str, str] = {}
        """Settings that do not run this task, with the reason."""
        self.to_start_again: set[str] = set()
        """Those of them that may run after all: they lacked memory, which a candidate may have
        held, or have been killed."""
        self._had_last_try: set[str] = set()
        self._compiled_anew: set[str] = set()
        """Those whose compiler had work again when other inputs came, seen before any was timed."""

    def start(self) -> None:
        """Let every setting build and compile, beside the first candidate's checks.

        Where memory is scarce nothing starts before ``measure``.
        """
        if self._region is not None:
            return
        oracle = self._oracle
        held = contents(oracle.first_arguments, oracle.state(USUAL), oracle.example)
        self._region = Region(self._place, plan_slots(held)[1])
        self._stack.callback(self._region.close)
        self._pool = ThreadPoolExecutor(None, "baseline")
        self._stack.callback(self._pool.shutdown, wait=True, cancel_futures=True)
        settings = self._settings.values()
        plain = [setting for setting in settings if not any(setting.copies)]
        copying = [setting for setting in settings if any(setting.copies)]
        first = [plain] if copying else [[setting] for setting in plain]
        together = [*first, *([each] for each in copying)] if self.is_crowded else [settings]
        waves = map(self._submit, together)
        self._waves = waves if self.is_crowded else list(waves)

    def wait(self) -> None:
        """Return when ``measure`` need wait for nothing that builds, nor build anything itself:
        it may then be called by who is alone at the device. Not covered: where it is crowded."""
        if self._is_measured:
            return
        self.start()
        if self._empty is None:
            self._empty = self._start_empty()
        if not self.is_crowded:
            for futures in self._waves:
                self._collect(futures)

    def measure(self) -> None:
        """Time every setting, once; waits for those that still compile.

        Raises:
            DeviceError: none can be measured.
        """
        self.wait()
        if self._is_measured:
            return
        for futures in self._waves:
            self._collect(futures)
            with self._turns.alone():
                if self._empty is not None:
                    empty, self._empty = self._empty, None  # it ends, whatever comes of it
                    self._calibrate(empty)
                self._rank()
                self._copying.measure()
            if self._runners:
                self._close_losers()
        if not self._runners:
            raise DeviceError(
                "no baseline can be measured",
                seen="; ".join(f"{k}: {v[:200]}" for k, v in self.dropped.items()),
                do="run the task by itself on this machine and see what fails",
            )
        self._is_measured = True

    def lose(self, failed: RunnerFailed) -> DeviceError | None:
        """End a setting that failed while a candidate was timed; what its verdict is to say. None
        where it compiles anew for other inputs: no verdict needs one that takes so long."""
        name, reason = failed.name, str(failed.refused)
        self._runners.pop(name).close()
        self._is_measured = False
        if name in self._compiled_anew and failed.refused.status is Status.TIMEOUT:
            self.dropped[name] = f"it compiles anew for other inputs: {reason}"
            return None
        self._drop(name, failed.refused)
        return _failed([name], reason)

    def require_all(self) -> None:
        """Nothing is to be measured beside some of the settings where the others may run too.

        Raises:
            DeviceError: it would be.
        """
        if names := sorted(self.to_start_again):
            raise _failed(names, "; ".join(self.dropped[name][:200] for name in names))

    def excuse(self) -> None:
        """No candidate is to blame for what failed: its next try is the last."""
        self._had_last_try |= self.to_start_again

    def _drop(self, name: str, refused: Refused) -> None:
        self.dropped[name] = str(refused)
        may_run = name in self.median_ns or refused.says_no_memory
        if may_run and not self.is_crowded and name not in self._had_last_try:
            self.to_start_again.add(name)

    def start_again(self) -> None:
        """Let those that may run after all have another try, and measure all anew; not for who is
        alone at the device."""
        if not self.to_start_again:
            return
        again, self.to_start_again = self.to_start_again, set()
        for name in again:
            del self.dropped[name]
        for futures in self._waves:
            futures |= self._submit([self._settings[name] for name in sorted(again)])
        self._is_measured = self._is_settled = False

    def settle_in(self) -> None:
        """Have the setting that a candidate's results are compared with come to rest, once, with
        results that are held; for who is alone."""
        if self._is_settled:
            return
        self._is_settled = True
        name = baselines.compared(self._runners, self.strongest)
        with named(name):
            self._stopwatch.settle_in(self._runners[name], self._oracle.first_arguments)

    @property
    def strongest(self) -> str:
        """The fastest setting."""
        self.measure()
        return self._fastest()

    def copying(self) -> dict[str, float]:
        """What the task moves, and how fast the device copies; empty before ``measure``."""
        return self._copying.told()

    def nothing_to_win(self) -> dict[str, Any]:
        """Why no candidate can be much faster than these, and what was measured; else nothing.

        Not asked of a degenerate task, of whose inputs not all has to be read.
        """
        if self._oracle.profile.warnings or self._copying.moved_bytes < LARGE_BYTES:
            return {}
        strongest = self.strongest
        why = self._copying.leaves_nothing(self.median_ns[strongest])
        if not why:
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
        self._stack.close()

    def _fastest(self) -> str:
        """Of those that still run: one that lost has ended, whatever the others take later."""
        return min(self._runners, key=self.median_ns.__getitem__)

    def _collect(self, futures: Starting) -> None:
        """Wait for those that start, and warm up those that compile."""
        # All of them first: they share the memory that other inputs are now written to.
        wait_for(futures, lambda name: self._start_one(self._settings[name]), self._turns)
        for name, future in list(futures.items()):
            try:
                runner = future.result()
                is_compiled = self._settings[name].compile is not None
                if is_compiled and warm_up(runner, self._oracle, self._turns):
                    self._compiled_anew.add(name)
                self._runners[name] = runner
            except Refused as refused:
                self._drop(name, refused)
            del futures[name]

    def _submit(self, settings: Sequence[baselines.Setting]) -> Starting:
        """Start those that may be the fastest."""
        return {
            setting.name: self._pool.submit(self._start_one, setting)
            for setting in settings
            if not self._is_hopeless(setting)
        }

    def _is_hopeless(self, setting: baselines.Setting) -> bool:
        """Whether its copies alone take longer than another setting does in all."""
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

    def _start_one(self, setting: baselines.Setting) -> Runner:
        like, region = self._oracle.example, self._region
        cache = compiler_cache()
        folder = self._stack.enter_context(folder_in(cache))
        runner = self._children.spawn(setting.environment, like, cache=cache, region=region)
        self._stack.callback(runner.close)
        how: dict[str, Any] = {"payload": self._task.payload, "folder": folder}
        how["import_roots"] = list(self._task.import_roots)
        how["cuda_graph"] = setting.cuda_graph
        if setting.compile is not None:
            how["compile"] = dict(setting.compile)
        if self._task.precision:
            lowered = {"precision": self._task.precision, "is_held": setting.is_held}
            how["precision"] = lowered
        with closed_if_refused(runner), runner.beside(self._turns):
            build(runner, self._oracle, self._task.source, self._task.entry, how)
            runner.put(self._oracle.first_arguments)
        # One after the other where the compiler is asked for the same: the second finds it cached.
        # No seat is held while waiting for the other, who may have to leave its own.
        is_compiled = setting.compile is not None
        with (
            closed_if_refused(runner),
            self._compiling[repr(setting.compile)],
            self._seat(runner, is_compiled=is_compiled),
        ):
            runner.call(limit_s=FIRST_CALL_LIMIT_S, take=False, may_be_long=True)
            runner.release()
        return runner

    @contextlib.contextmanager
    def _seat(self, runner: Runner, *, is_compiled: bool) -> Iterator[None]:
        """Nobody waits for a library's compiler that works elsewhere nearly all the time, and it is
        not stopped: it is trusted."""
        if is_compiled and self._place.compiles_elsewhere:
            yield
            runner.stand_still()
        else:
            with runner.beside(self._turns):
                yield

    def _start_empty(self) -> Runner:
        """A module that does nothing but use the device."""
        oracle = self._oracle
        runner = self._children.spawn({}, oracle.example, region=self._region)
        shapes = [(list(t.shape), dtype_name(t.dtype)) for t in oracle.example]
        program = Program(EMPTY_MODULE, "ModelNew", [shapes], 0, {})
        try:
            with runner.beside(self._turns):
                runner.build(program, {}, oracle.first_arguments, limit_s=BUILD_LIMIT_S)
        except Refused as refused:
            runner.close()
            raise _not_measured(refused) from refused
        return runner

    def _calibrate(self, empty: Runner) -> None:
        """Measure what a call costs that does nothing; it is taken off every time."""
        try:
            self._stopwatch.calibrate(empty, self._oracle.first_arguments)
        except Refused as refused:
            raise _not_measured(refused) from refused
        finally:
            empty.close()

    def _rank(self) -> None:
        """Time those that run, together; the ones that cannot be measured are dropped."""
        while self._runners:
            try:
                arguments = self._oracle.first_arguments
                with memory_apart():
                    self.median_ns |= self._stopwatch.rank(self._runners, arguments, N_QUICK)
                return
            except MemoryError as error:
                raise no_memory(self._task, error) from error
            except RunnerFailed as failed:
                self._drop(failed.name, failed.refused)
                self.median_ns.pop(failed.name, None)
                self._runners.pop(failed.name).close()

    def _close_losers(self) -> None:
        """End those that no verdict needs: they hold memory."""
        for name in set(self._runners) - {*baselines.ALWAYS, self._fastest()}:
            self._runners.pop(name).close()


def _failed(names: Sequence[str], why: str) -> DeviceError:
    return DeviceError(
        f"library settings failed that may run after all: {', '.join(names)}",
        seen=why,
        do="judge it again; see whether other programs use this device's memory",
    )


def _not_measured(refused: Refused) -> DeviceError:  # no candidate's fault
    return DeviceError(
        "a module that does nothing cannot be measured",
        seen=str(refused),
        do="see whether other programs use this device's memory",
    )


EMPTY_MODULE = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, shapes):
        super().__init__()
        for number, (shape, dtype) in enumerate(shapes):
            self.register_buffer(f"b{number}", torch.zeros(shape, dtype=getattr(torch, dtype)))
        self.register_buffer("used", torch.zeros(1), persistent=False)
        self.n_calls = 0

    def forward(self, *arguments):
        if self.used.is_cuda:
            for _ in range(1 + self.n_calls % 2):
                self.used.zero_()
                torch.cuda.synchronize()
        self.n_calls += 1
        return list(self._buffers.values())[:-1]
"""
