"""The judge: one candidate in, one verdict out."""

from __future__ import annotations

import collections
import os
import secrets
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.evaluation import Evaluation, Status, Timing
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import baselines, environment, kinds, profiling
from kernelwright.judge.check import Check
from kernelwright.judge.child import Zygote
from kernelwright.judge.draft import Draft, Subject
from kernelwright.judge.exclusive import exclusive
from kernelwright.judge.inputs import DISTRIBUTIONS, RESAMPLED, SPECIAL
from kernelwright.judge.layout import dtype_name, plan_slots
from kernelwright.judge.oracle import RANDOMISED, TASK, Draw, Oracle, derive_seed
from kernelwright.judge.place import place_of
from kernelwright.judge.refusal import Refused
from kernelwright.judge.runner import Program, Region, Runner, contents
from kernelwright.judge.screen import screen
from kernelwright.judge.timing import RunnerFailed, Stopwatch

BUILD_LIMIT_S = 180.0  # load_inline with CUDA took 30.5 s on an H200 and 90 s on a slow CPU
FIRST_CALL_LIMIT_S = 180.0  # torch.compile on two busy cores took 60 s
CALL_LIMIT_S = 10.0
SLOWEST = 50.0
"""A call may take this many times the reference's time, and CALL_LIMIT_S at least."""
ORACLE_BUDGET_S = 10.0
"""Of the reference's own runs, once per task; then the remaining distributions are left out."""
FEWEST_DRAWS = 6
REFUSALS = tuple(map(frozenset, ((), ("processes",), ("filesystem",), ("processes", "filesystem"))))
"""Guarantees to do without, tried in this order until the device works."""
CROWDED = 16
"""Copies of a task's tensors that judge, candidate and baselines may hold at a time. Where the
device has no room for so many, baselines start one by one, when the checks are done."""
N_QUICK = 5
TIME_BUDGET_S = 1.0
"""Of rounds per candidate; with a build of one second it keeps a verdict near two seconds."""


class Judge:
    """Judges candidates for one task on one device; a context manager that owns processes.

    Raises:
        TaskError: the reference does not run, or no two runs of it agree.
        DeviceError: no child process can be made.
    """

    def __init__(
        self, task: Task, *, device: Device | None = None, settings: Settings | None = None
    ) -> None:
        self.task = task
        self.device = device or Device.parse("cpu")
        self.settings = settings or Settings()
        self.threads = environment.resolve_threads(self.settings.threads)
        self.place = place_of(self.device)
        self._refuse: frozenset[str] | None = None
        self._lock = threading.Lock()
        self._compiling = collections.defaultdict(threading.Lock)
        self._secret = secrets.randbits(63)
        self._zygotes: dict[tuple[tuple[str, str], ...], Zygote] = {}
        self._stack = ExitStack()
        self._baselines: dict[str, Future[Runner]] | None = None
        self.baseline_ns: dict[str, float] = {}
        """Median nanoseconds of every library setting, measured once, before the first verdict."""
        self.dropped: dict[str, str] = {}
        """Library settings that do not run this task, with the reason."""

    def __enter__(self) -> Judge:
        try:
            environment.use_threads(self.threads)
            self._zygote({})
            self.oracle = Oracle(self.task, self.device.torch_name, self._secret)
            names = [RANDOMISED] if self.oracle.has_weights else []
            names += [RESAMPLED] if self.oracle.has_integers else []
            self._draws = [
                Draw(name, derive_seed(self._secret, name, 0))
                for name in (*names, *DISTRIBUTIONS, SPECIAL)
            ]
            self.workload = self.oracle.workload()
            self._is_crowded = CROWDED * self.oracle.moved_bytes > self.place.memory_bytes()
            self.environment = environment.describe(
                self.device, self.place, self.threads, self.settings.cache
            )
            self.stopwatch = Stopwatch(self.place, cache=self.settings.cache, limit_s=CALL_LIMIT_S)
        except BaseException as error:
            self.__exit__(None, None, None)
            if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
                raise no_memory(self.task, error) from error
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # First, so that threads that wait for a baseline to compile wait no longer.
        for zygote in self._zygotes.values():
            zygote.close()
        self._stack.close()

    @property
    def strongest(self) -> str:
        """The fastest library setting on this task."""
        self._measure_baselines()
        return min(self.baseline_ns, key=self.baseline_ns.__getitem__)

    def evaluate(
        self, candidate: Candidate, *, timed: bool = True, max_time_s: float = TIME_BUDGET_S
    ) -> Evaluation:
        """The verdict on one candidate; whatever it does, a status and never an exception.

        With ``timed`` false only its results are checked, and no baseline is started.

        Units:
            ``max_time_s`` bounds the timed rounds, in seconds; fewer make a wider interval.
        Raises:
            DeviceError: the baselines cannot be run on this machine.
        """
        seed = secrets.randbits(63)
        subject = Subject(
            self.task.digest, self.workload.digest, candidate.digest, self.environment
        )
        verdict = Draft(subject, list(self.oracle.warnings), seed)
        try:
            self._judge(verdict, candidate, seed, max_time_s if timed else None)
        except Refused as refused:
            return verdict.conclude(refused.status, refused.reason)
        except (DeviceError, MemoryError, torch.OutOfMemoryError) as error:
            return verdict.conclude(Status.INFRA_ERROR, str(error))
        return verdict.conclude(Status.PASSED)

    def _judge(
        self, verdict: Draft, candidate: Candidate, seed: int, max_time_s: float | None
    ) -> None:
        reason = screen(candidate)
        if reason is not None:
            raise Refused(Status.BUILD_ERROR, reason)
        dialect = plugins.find("kernelwright.dialects", candidate.dialect)
        lacking = dialect.missing(self.device)
        if lacking is not None:
            raise Refused(Status.INFRA_ERROR, lacking)
        is_timed = dialect.is_timed(self.device) and max_time_s is not None
        if is_timed and not self._is_crowded:
            self._start_baselines()
        with ExitStack() as stack:
            runner = self._spawn(dialect.environment(self.device))
            stack.callback(runner.close)
            verdict.guarantees = runner.child.granted
            start_s = time.monotonic()
            try:
                self._build(runner, candidate.source, candidate.entry, {})
            finally:
                verdict.build_s = time.monotonic() - start_s
            self.stopwatch.prioritise(runner)
            check = Check(self.oracle, runner, derive_seed(seed, "verify"))
            try:
                with exclusive(self.place.name):
                    self._check(check)
            finally:
                verdict.check_s = time.monotonic() - start_s - verdict.build_s
                verdict.warnings += check.tally.warnings
                verdict.numerics = check.tally.numerics()
            if not is_timed:
                why = f"{candidate.dialect} on {self.device.kind} runs in an interpreter"
                verdict.warnings.append(f"not timed: {'as asked' if max_time_s is None else why}")
                return
            verdict.timing = self._time(verdict, check, seed, max_time_s)
            verdict.numerics = check.tally.numerics()
            verdict.kinds = kinds.of(runner, self.oracle)
            if self.settings.models:  # who reads it
                verdict.profile = profiling.of(runner, self.oracle)

    def _check(self, check: Check) -> None:
        """Calls on every distribution, and with other weights; first the task's own inputs."""
        turn = self.stopwatch.turn
        self.stopwatch.limit_s = FIRST_CALL_LIMIT_S
        check.run(self.oracle.first, turn)
        self.stopwatch.limit_s = self._call_limit_s()
        for number, draw in enumerate(self._draws):
            if self.oracle.spent_s > ORACLE_BUDGET_S and number >= FEWEST_DRAWS:
                del self._draws[number:]  # for later candidates too: all are checked alike
                break
            check.run(draw, turn)
        check.finish()

    def _call_limit_s(self) -> float:
        slowest_ns = max(self.baseline_ns.values(), default=0.0)
        return max(CALL_LIMIT_S, SLOWEST * slowest_ns * 1e-9)

    def _time(self, verdict: Draft, check: Check, seed: int, max_time_s: float) -> Timing:
        self._measure_baselines()
        verdict.warnings += [
            f"library setting {name} was not measured: {reason[:200]}"
            for name, reason in self.dropped.items()
        ]
        names = dict.fromkeys((*baselines.ALWAYS, self.strongest))
        kept = {name: self._runner(name) for name in names if name in self.baseline_ns}
        with exclusive(self.place.name):
            start_s = time.monotonic()
            try:
                return self.stopwatch.compare(
                    check.runner,
                    kept,
                    strongest=self.strongest,
                    arguments_of=self.oracle.arguments,
                    check=check,
                    draws=self._draws,
                    seed=seed,
                    budget_s=max_time_s,
                )
            finally:
                verdict.time_s = time.monotonic() - start_s

    def _zygote(self, extra: Mapping[str, str]) -> Zygote:
        key = tuple(sorted(extra.items()))
        if key not in self._zygotes:
            zygote = Zygote(extra, threads=self.threads)
            self._zygotes[key] = zygote
        return self._zygotes[key]

    def _spawn(
        self,
        extra: Mapping[str, str],
        cache: Path | None = None,
        region: Region | None = None,
    ) -> Runner:
        zygote = self._zygote(extra)
        with self._lock:
            if self._refuse is None:
                self._refuse = self._weakest_refusal(zygote)
        child = zygote.fork(cache=cache, refuse=self._refuse)
        like = self.oracle.example
        return Runner(child, self.place, like, threads=self.threads, region=region)

    def _weakest_refusal(self, zygote: Zygote) -> frozenset[str]:
        """The fewest guarantees to do without so that the device works in a child.

        Source:
            CUDA does not start in some process namespaces (error 304, "OS call failed").
        """
        if self.place.reads_from_outside:
            return frozenset()
        reasons = []
        for refused in REFUSALS:
            runner = Runner(zygote.fork(refuse=refused), self.place, [], threads=self.threads)
            try:
                runner.try_device()
                return refused
            except Refused as error:
                reasons.append(error.reason)
            finally:
                runner.close()
        raise DeviceError(
            f"{self.device} does not work in a separate process",
            seen="; ".join(dict.fromkeys(reasons))[:500],
            do="run `kernelwright doctor`, and check the driver and its device files",
        )

    def _build(self, runner: Runner, source: str, entry: str, setting: dict[str, Any]) -> None:
        program = Program(source, entry, self.oracle.initial, self.oracle.weight_seed, setting)
        arguments = self.oracle.first_arguments
        runner.build(program, self.oracle.state(TASK), arguments, limit_s=BUILD_LIMIT_S)

    def _start_baselines(self) -> None:
        """Let every library setting build and compile, beside the first candidate's checks."""
        if self._baselines is not None:
            return
        oracle = self.oracle
        held = contents(oracle.first_arguments, oracle.state(TASK), oracle.example)
        self._region = Region(self.place, plan_slots(held)[1])
        self._stack.callback(self._region.close)
        pool = ThreadPoolExecutor(1 if self._is_crowded else None, "baseline")
        self._stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        settings = baselines.SETTINGS[self.device.kind]
        for setting in settings:
            self._zygote(setting.environment)
        self._baselines = {s.name: pool.submit(self._start_baseline, s) for s in settings}

    def _start_baseline(self, setting: baselines.Setting) -> Runner:
        runner = self._spawn(setting.environment, compiler_cache(), self._region)
        self._stack.callback(runner.close)
        how: dict[str, Any] = {"payload": self.task.payload}
        how["import_roots"] = list(self.task.import_roots)
        how["cuda_graph"] = setting.cuda_graph
        if setting.compile is not None:
            how["compile"] = dict(setting.compile)
        self._build(runner, self.task.source, self.task.entry, how)
        # Not drawn here: the default dtype and the random state belong to the main thread.
        runner.put(self.oracle.first_arguments)
        # One after the other where the compiler is asked for the same: the second finds it cached.
        with self._compiling[repr(setting.compile)]:
            runner.call(limit_s=FIRST_CALL_LIMIT_S, take=False)
        runner.release()
        runner.stand_still()
        return runner

    def _calibrate(self) -> None:
        """Measure what a call costs that does nothing; it is taken off every time."""
        runner = self._spawn({}, region=self._region)
        try:
            shapes = [(list(t.shape), dtype_name(t.dtype)) for t in self.oracle.example]
            program = Program(EMPTY_MODULE, "ModelNew", [shapes], 0, {})
            runner.build(program, {}, self.oracle.first_arguments, limit_s=BUILD_LIMIT_S)
            self.stopwatch.calibrate(runner, self.oracle.first_arguments)
        finally:
            runner.close()

    def _runner(self, name: str) -> Runner:
        return self._baselines[name].result()

    def _measure_baselines(self) -> None:
        """Time every library setting once and keep the ones that verdicts need."""
        if self.baseline_ns:
            return
        self._start_baselines()
        ready: dict[str, Runner] = {}
        for name, future in self._baselines.items():
            try:
                ready[name] = future.result()
            except Refused as refused:
                self.dropped[name] = refused.reason
        arguments = self.oracle.first_arguments
        measured: dict[str, float] = {}
        with exclusive(self.place.name):
            self._calibrate()
            while ready and not measured:
                try:
                    measured = self.stopwatch.rank(ready, arguments, N_QUICK)
                except torch.OutOfMemoryError as error:
                    raise no_memory(self.task, error) from error
                except RunnerFailed as failed:
                    self.dropped[failed.name] = failed.reason
                    ready.pop(failed.name).close()
        if not measured:
            raise DeviceError(
                "no baseline can be measured",
                seen="; ".join(f"{k}: {v[:200]}" for k, v in self.dropped.items()),
                do="run the task by itself on this machine and see what fails",
            )
        self.baseline_ns = measured
        self.stopwatch.limit_s = self._call_limit_s()
        for name, runner in ready.items():
            if name not in (*baselines.ALWAYS, self.strongest):
                runner.close()


def no_memory(task: Task, error: BaseException) -> DeviceError:
    """The error of a task that leaves its judge too little memory."""
    return DeviceError(
        f"{task.name} does not fit in memory beside its judge",
        seen=str(error).splitlines()[0][:300] if str(error) else type(error).__name__,
        do="use smaller inputs, or a device with more memory",
    )


def compiler_cache() -> Path:
    """Where the library's compilers keep their work between runs; no candidate sees it."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "kernelwright" / "baselines"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


EMPTY_MODULE = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, shapes):
        super().__init__()
        for number, (shape, dtype) in enumerate(shapes):
            self.register_buffer(f"b{number}", torch.zeros(shape, dtype=getattr(torch, dtype)))

    def forward(self, *arguments):
        return list(self._buffers.values())
"""
