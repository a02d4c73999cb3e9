"""The worker: the process that loads many candidates, checks each once, and times them."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import struct
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from kernelwright.core.trial import TrialOutcome
from kernelwright.judge.devices import cpu
from kernelwright.judge.timing.cores import prioritise
from kernelwright.tuner import modules
from kernelwright.tuner.builder import note_library
from kernelwright.tuner.modules import Unfit
from kernelwright.tuner.question import Question
from kernelwright.tuner.racing import race

REFERENCE = "reference"
"""The name of the arm that is the reference in eager mode."""
POSITION = struct.Struct("qq")
"""The memory that both processes see: the number of the candidate that runs, and of its step."""
NOBODY = -1
"""No single candidate runs: several are imported side by side."""
MAX_DETAIL_CHARS = 600
MOST_QUEUEING_NS, SLACK = 2e6, 1.5
"""For how long a GPU is kept busy at most while a call is queued, in nanoseconds, and the factor on
the time that queueing the last one took. The judge's windows do not hold that time either, as far
as a GPU's queue has room."""
CYCLES_PER_NS = 2.0
"""Cycles of a GPU in a nanosecond, at the highest clock."""


@dataclass(frozen=True)
class Entrant:
    """A candidate as it is sent to the worker."""

    name: str
    """Its digest."""
    source: str
    entry: str
    is_foreign: bool = False
    """Whether others than our emitters wrote it: what it leaves unwritten must not look right."""
    must_work: bool = False
    """Whether it is unfit if the library does its work."""


@dataclass(frozen=True)
class Entry:
    """What came of loading a candidate: it stands ready, or how its trial ended."""

    outcome: TrialOutcome = TrialOutcome.MEASURED
    detail: str = ""

    @property
    def is_ready(self) -> bool:
        return self.outcome is TrialOutcome.MEASURED


class Position:
    """Where the worker is, so that the parent knows whose crash or hang it sees."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory, self._n_steps = memory, 0

    def enter(self, number: int) -> None:
        """Say that the candidate of this number runs from now on."""
        self._n_steps += 1
        POSITION.pack_into(self._memory, 0, number, self._n_steps)


class Worker:
    """The candidates of one worker, each a module with the task's weights."""

    def __init__(self, question: Question, position: Position) -> None:
        self.question, self.position = question, position
        self.folder = Path(tempfile.mkdtemp())
        self.modules: dict[str, torch.nn.Module] = {}
        self.is_on_gpu = torch.device(question.device).type != "cpu"
        self._flushed = torch.zeros(question.flush_bytes // 4, device=question.device)
        self.n_loaded = self.n_races = 0
        self._queueing_ns: dict[str, float] = {}
        """How long a GPU is kept busy before a call, by arm."""

    def open(self) -> None:
        """Make the reference an arm."""
        self.modules[REFERENCE] = modules.reference(self.question)
        self.call(REFERENCE)

    def load(self, entrants: Sequence[Entrant], keep: Sequence[str]) -> list[Entry]:
        """Drop all modules but those to ``keep``; then import, construct and check the entrants.

        They are imported side by side, since importing compiles C++ and CUDA.
        """
        self.modules = {n: m for n, m in self.modules.items() if n in (*keep, REFERENCE)}
        gc.collect()
        self.position.enter(NOBODY if len(entrants) > 1 else 0)
        with ThreadPoolExecutor(self.question.threads) as pool:
            imports = [pool.submit(self._import, entrant) for entrant in entrants]
        if not self.is_on_gpu:
            prioritise(
                os.getpid()
            )  # as the judge does with what it times; builds do not inherit it
        entries = []
        for number, (entrant, imported) in enumerate(zip(entrants, imports, strict=True)):
            self.position.enter(number)
            try:
                self._enter(entrant, imported.result())
                entries.append(Entry())
            except Unfit as unfit:
                self.modules.pop(entrant.name, None)
                entries.append(Entry(unfit.outcome, _shortened(str(unfit))))
            except Exception as error:  # whatever a compiler or a driver raises
                self.modules.pop(entrant.name, None)
                detail = _shortened(f"{type(error).__name__}: {error}")
                entries.append(Entry(TrialOutcome.FAILED, detail))
                self.settle()  # a GPU that an error has left unusable ends this worker
        return entries

    def race(
        self, names: Sequence[str], kept: Sequence[str], stages: Sequence[int]
    ) -> dict[str, list[float]]:
        """Return the samples of every arm, in nanoseconds; ``kept`` arms are in all rounds."""
        self.n_races += 1
        numbers = {name: number for number, name in enumerate(names)}

        def time_ns(name: str) -> float:
            self.position.enter(numbers[name])
            return self.time_ns(name)

        return race(names, time_ns, kept=kept, stages=stages, seed=self.n_races)

    def call(self, name: str) -> Any:
        return self.modules[name](*self.question.arguments)

    def time_ns(self, name: str) -> float:
        """Time one call with cold caches, in nanoseconds: by events on a GPU, which is kept busy
        until the call's kernels are in its queue."""
        with self._one_thread():
            self._flushed.sum()
        if not self.is_on_gpu:
            start_ns = time.perf_counter_ns()
            self.call(name)
            return time.perf_counter_ns() - start_ns
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(int(self._queueing_ns.get(name, MOST_QUEUEING_NS) * CYCLES_PER_NS))
        begin_ns = time.perf_counter_ns()
        start.record()
        self.call(name)
        end.record()
        took_ns = time.perf_counter_ns() - begin_ns
        self._queueing_ns[name] = min(MOST_QUEUEING_NS, SLACK * took_ns)
        self.settle()
        return float(start.elapsed_time(end)) * 1e6

    @contextlib.contextmanager
    def _one_thread(self) -> Iterator[None]:
        """Let torch use one thread, as the judge does for what is its own work.

        The threads of torch's pool and those of a candidate's would wait for each other's cores.
        """
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(self.question.threads)

    def settle(self) -> None:
        """Return when all work on the device is done."""
        if self.is_on_gpu:
            torch.cuda.synchronize()

    def _import(self, entrant: Entrant) -> Any:
        self.n_loaded += 1
        name = f"candidate_{self.n_loaded}_{entrant.name.removeprefix('b2:')[:12]}"
        namespace = modules.imported(entrant.source, name, self.folder)
        note_library(entrant.source, namespace)
        return namespace[entrant.entry]

    def _enter(self, entrant: Entrant, kind: Any) -> None:
        """Make a candidate an arm, after a first call: many compilers work at that."""
        module = modules.constructed(kind, self.question)
        modules.require_own_kernels(module, self.question.arguments)
        self.modules[entrant.name] = module
        with contextlib.ExitStack() as stack:
            if entrant.is_foreign:
                stack.enter_context(modules.nothing_overwritten(self.question))
            if entrant.must_work:
                modules.require_own_work(module, self.question)
            if entrant.is_foreign:
                stack.enter_context(modules.nothing_left_over())
            result = self.call(entrant.name)
        with self._one_thread():
            modules.require_right(result, self.question)


def serve(channel: Connection, question: Question, position: Position) -> None:
    """Answer requests until the other side hangs up: a name of a method, and its arguments."""
    torch.set_grad_enabled(False)
    torch.set_num_threads(question.threads)
    if question.device == "cpu":
        cpu.spread_threads()
    worker = Worker(question, position)
    worker.open()
    gc.freeze()  # what is there now stays; a collection takes a third of a second with it
    channel.send(None)
    while True:
        try:
            method, *arguments = channel.recv()
        except EOFError:
            return
        channel.send(getattr(worker, method)(*arguments))


def _shortened(text: str) -> str:
    """Return the text without surrogates, which no archive stores, and not too long."""
    return text[:MAX_DETAIL_CHARS].encode("utf-8", "replace").decode()
