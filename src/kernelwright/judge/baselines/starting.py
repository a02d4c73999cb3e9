"""Starting the library settings: each is built and compiled in a child, beside other work."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import pickle
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.core.task import Task
from kernelwright.judge.baselines.compiler_cache import compiler_cache, folder_in
from kernelwright.judge.baselines.library_settings import EAGER, Setting
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.machine import Machine
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.isolation import NO_OPTIONS, ChildOptions
from kernelwright.judge.sandbox.layout import Region, contents, dtype_name, plan_slots
from kernelwright.judge.sandbox.program import LibrarySetup, Program
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.submission import BUILD_LIMIT_S, FIRST_CALL_LIMIT_S, build

MOST_DRAWS = 5
"""Inputs for which, one after the other, something may be compiled. A number in the code is taken
for a constant at first, and for a variable when it changes: that is settled with the second."""
TUNING_LIMIT_S = 1200.0
"""Time limit of the first call of a setting whose compiler measures many kernels."""
MANY_WEIGHTS, MOST_COMPILERS = 32, 4
"""Tensors of weights from which a task is a network of many kernels, and the number of kernels that
its compiler works on at a time then. For fewer kernels it does not pay: Inductor's program takes
some seconds of a core to start."""
Starting = dict[str, Future[Runner]]
"""The settings that start, by name."""
EMPTY = Setting("empty", "what a call costs that does nothing", process=EAGER)
"""No setting, but a module that starts as settings do."""


class SettingStarter:
    """Starts the library settings of one task; they share the memory for arguments."""

    def __init__(
        self, task: Task, oracle: Oracle, machine: Machine, settings: Iterable[Setting]
    ) -> None:
        self.task, self._oracle, self._machine = task, oracle, machine
        self.settings = {row.name: row for row in settings if not (task.step_of and row.cuda_graph)}
        self._compile_locks = collections.defaultdict[str, threading.Lock](threading.Lock)
        self._stack = ExitStack()
        self._region: Region | None = None
        self._pool = ThreadPoolExecutor(None, "baseline")
        self._empty: Future[Runner] | None = None

    @property
    def is_open(self) -> bool:
        """True if the shared memory has been allocated."""
        return self._region is not None

    @property
    def n_compilers(self) -> int:
        """The number of kernels that the library's compiler works on at a time."""
        is_large = len(self._oracle.state(USUAL)) >= MANY_WEIGHTS
        return min(MOST_COMPILERS, self._machine.threads) if is_large else 1

    def open(self) -> None:
        """Allocate the shared memory."""
        oracle = self._oracle
        held = contents(oracle.first_arguments, oracle.state(USUAL), oracle.example)
        self._region = Region(self._machine.backend, plan_slots(held)[1])
        self._stack.callback(self._region.close)
        self._stack.callback(self._pool.shutdown, wait=True, cancel_futures=True)

    def close(self) -> None:
        """End the settings and give their memory back."""
        self._stack.close()

    def start(self, settings: Iterable[Setting], *, share: bool = False) -> Starting:
        """Start settings in threads, each in a process of its own. Those that may ``share`` one are
        started in it one after the other, and the empty module with eager mode."""
        together: dict[str, list[Setting]] = {}
        for setting in settings:
            shared = f"shared {setting.process}" if share and setting.process else setting.name
            together.setdefault(shared, []).append(setting)
        with_eager = together.get(f"shared {EMPTY.process}")
        if with_eager and self._empty is None:
            with_eager.append(EMPTY)
        starting: Starting = {}
        for some in together.values():
            futures = {setting.name: Future[Runner]() for setting in some}
            self._pool.submit(self._start_together, some, futures)
            starting |= futures
        self._empty = starting.pop(EMPTY.name, self._empty)
        return starting

    def wait_for(self, starting: Starting) -> None:
        """Return when all have started or failed. A setting that gave no answer in time is started
        once more while nobody builds: candidates that are built may have left it no core."""
        concurrent.futures.wait(starting.values())
        if late := [name for name, future in starting.items() if _was_late(future)]:
            with self._machine.device_lock.exclusive():
                for name in late:
                    starting[name] = future = Future[Runner]()
                    try:
                        future.set_result(self._start_one(self.settings[name]))
                    except Refused as refused:
                        future.set_exception(refused)

    def warm_up(self, runner: Runner) -> bool:
        """Call a compiled setting on other inputs of the task's own until nothing is compiled for
        them, as the compiler's own count says; True if anything was.

        Raises:
            Refused: it does not run on them, or is compiled for every one of them.
        """
        lock, oracle = self._machine.device_lock, self._oracle
        with lock.shared(runner):
            n_graphs = runner.n_graphs()
        for number in range(MOST_DRAWS):
            draw, n_before = Draw(TASK, derive_seed(oracle.secret, "warming", number)), n_graphs
            with lock.shared(runner):
                runner.put(oracle.arguments(draw))
                runner.call(limit_s=FIRST_CALL_LIMIT_S, take=False, may_be_long=True)
                runner.release()
                n_graphs = runner.n_graphs()
            if n_graphs == n_before:
                return number > 0
        why = f"it compiles anew for other inputs: for {MOST_DRAWS} of them one after the other"
        raise Refused(ReasonCode.KEEPS_COMPILING, why)

    def start_empty(self) -> None:
        """Start a module that does nothing but use the device, unless one starts or runs."""
        if self._empty is None:
            self._empty = self._pool.submit(self._start_one, EMPTY)

    def wait_for_empty(self) -> None:
        """Return when that module runs; a failure is forgotten, and the next start tries again.

        Raises:
            DeviceError: it does not start.
        """
        assert self._empty is not None  # it has been started
        try:
            with not_measured():
                self._empty.result()
        except BaseException:
            self._empty = None
            raise

    def take_empty(self) -> Runner | None:
        """The empty module, if one runs, for the caller to measure and to close."""
        empty, self._empty = self._empty, None
        return None if empty is None else empty.result()

    def _start_together(self, settings: Sequence[Setting], futures: Starting) -> None:
        """Start settings in one process. It ends if one of them fails, which may have left it in
        any state; the others are started anew."""
        waiting = {setting.name: setting for setting in settings}
        while waiting:
            made: dict[str, Runner] = {}
            for name, setting in waiting.items():
                beside = next(iter(made.values()), None)
                try:
                    made[name] = self._start_one(setting, beside)
                except BaseException as error:
                    futures[name].set_exception(error)
                    if beside is not None:
                        beside.end()
                    break
            else:
                for name, runner in made.items():
                    futures[name].set_result(runner)
                return
            del waiting[name]

    def _start_one(self, setting: Setting, beside: Runner | None = None) -> Runner:
        """Start one setting, in a process of its own or ``beside`` another one."""
        cache = compiler_cache()
        runner = beside.beside() if beside else self._made(setting, cache)
        self._stack.callback(runner.end)
        if setting is EMPTY:
            return self._build_empty(runner)
        setup = LibrarySetup(
            payload=self.task.payload,
            folder=self._stack.enter_context(folder_in(cache)),
            import_roots=tuple(self.task.import_roots),
            precision=self.task.precision,
            is_held=setting.is_held,
            compile=setting.compile,
            compilers=self.n_compilers,
            cuda_graph=setting.cuda_graph,
        )
        with _ended_if_refused(runner):
            with self._machine.device_lock.shared(runner):
                build(runner, self._oracle, self.task.source, self.task.entry, setup)
                runner.put(self._oracle.first_arguments)
            # One after the other where the compiler is asked for the same: the second finds it
            # cached. The device is not held while waiting, for the other may have to give it up.
            is_compiled = setting.compile is not None
            limit_s = TUNING_LIMIT_S if setting.is_tuned else FIRST_CALL_LIMIT_S
            with self._compile_locks[repr(setting.compile)], self._hold(runner, is_compiled):
                runner.call(limit_s=limit_s, take=False, may_be_long=True)
                runner.release()
        return runner

    def _made(self, setting: Setting, cache: Path) -> Runner:
        """A runner in a new process."""
        is_empty = setting is EMPTY  # which is compared with candidates
        options = NO_OPTIONS if is_empty else ChildOptions(setting.environment, cache)
        return self._machine.factory.make(self._oracle.example, options, region=self._region)

    def _build_empty(self, runner: Runner) -> Runner:
        shapes = [(list(t.shape), dtype_name(t.dtype)) for t in self._oracle.example]
        program = Program(EMPTY_MODULE, "ModelNew", pickle.dumps([shapes]), 0, LibrarySetup())
        with _ended_if_refused(runner), self._machine.device_lock.shared(runner):
            runner.build(program, {}, self._oracle.first_arguments, limit_s=BUILD_LIMIT_S)
        return runner

    @contextlib.contextmanager
    def _hold(self, runner: Runner, is_compiled: bool) -> Iterator[None]:
        """Share the device for a first call, unless a compiler works on other processors nearly all
        the time: then nobody waits for it, and it is not stopped, for it is trusted."""
        if is_compiled and self._machine.backend.compiles_elsewhere:
            yield
            runner.stand_still()
        else:
            with self._machine.device_lock.shared(runner):
                yield


@contextlib.contextmanager
def _ended_if_refused(runner: Runner) -> Iterator[None]:
    """End a setting that fails in this context, with its process: its compiler would go on beside
    timed calls."""
    try:
        yield
    except Refused:
        runner.end()
        raise


@contextlib.contextmanager
def not_measured() -> Iterator[None]:
    """Turn a refusal of the empty module, which is no candidate's fault, into a DeviceError."""
    try:
        yield
    except Refused as refused:
        raise DeviceError(
            "a module that does nothing cannot be measured",
            seen=str(refused),
            do="see whether other programs use this device's memory",
        ) from refused


def _was_late(future: Future[Runner]) -> bool:
    error = None if future.cancelled() else future.exception()
    return isinstance(error, Refused) and error.status is Status.TIMEOUT


EMPTY_MODULE = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, shapes):
        super().__init__()
        for number, (shape, dtype) in enumerate(shapes):
            self.register_buffer(f"b{number}", torch.zeros(shape, dtype=getattr(torch, dtype)))
        self.register_buffer("used", torch.zeros(1), persistent=False)

    def forward(self, *arguments):
        if self.used.is_cuda:
            self.used.zero_()
        return list(self._buffers.values())[:-1]
"""
