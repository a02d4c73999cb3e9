"""The stopwatch: timed calls of modules in children, one at a time, all others standing still."""

from __future__ import annotations

import contextlib
import functools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from kernelwright.core.evaluation import CANDIDATE
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.calls import Call, Window
from kernelwright.judge.sandbox.child import SampleTimes
from kernelwright.judge.sandbox.processes import faulted_bytes
from kernelwright.judge.sandbox.ring import Form, Packed
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.sandbox.windows import Windows
from kernelwright.judge.timing.background_work import BackgroundWorkDetector
from kernelwright.judge.timing.cores import gathered, lead, on_last_core, prioritise

WINDOW_NS = {"cpu": 5e6, "cuda": 20e6}
"""The least time of a window, unless it has MOST_CALLS. What a window costs besides its calls, the
message that begins it and the one that ends it, is 0.06 ms on a CPU; on an H200 it is 0.2 ms, for
the GPU changes its context, and is a part of every time: nothing is subtracted."""
QUEUED_NS = 3e6
"""The same for calls that are queued on a GPU behind the gate, where a window costs 0.05 ms."""
MOST_CALLS = 256
"""The most calls in a window. A GPU's queue takes 1,024 kernels."""
RING_SHARE = 1 / 256
"""The share of a GPU's memory that inputs and outputs of one window may take: ten times an H200's
last-level cache. Each of a judge's modules, eight at most, keeps as much beside what is counted."""
LONE_SHARE = 1 / 32
"""The share of a GPU's memory that inputs and outputs of a window of a single call may take.
Without a window the judge waits for each call, and on the busy host of an H200 that wait added 0.3
to 0.7 ms to every time: a tenth and more of a call that moves gigabytes."""
RING_CACHES = 4
"""The same on a CPU, in last-level caches: freed memory is taken up again from there."""
MOST_EVENED = 4
"""Times as many calls as a module needs that its windows may have beside a faster one."""
MOST_SIZINGS, N_TRIED = 8, 3
"""The sizes of windows that are tried at most before one is chosen, and how often each."""
N_CALIBRATION = 5
AT_REST, MOST_SETTLING, SETTLING_S = 4, 20, 2.0
"""A module has settled after so many calls in a row that take little new memory; it is given so
many calls at most, and so much time."""
LITTLE_MEMORY = 1 << 20
HELD = "held"
"""The name under which a library setting holds a result, as candidates hold theirs."""


class RunnerFailed(Exception):
    """One of several modules cannot be measured: its name and why."""

    def __init__(self, name: str, refused: Refused) -> None:
        self.name = name
        self.refused = refused
        super().__init__(f"{name}: {refused}")


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """Attribute a failure in this context to the module of this name.

    Raises:
        RunnerFailed: another module than the candidate was refused. A candidate's refusal is its
            verdict and passes through.
    """
    try:
        yield
    except Refused as refused:
        if name == CANDIDATE:
            raise
        raise RunnerFailed(name, refused) from None


class CacheFlush:
    """Reads a buffer of twice the last-level cache, so that the next call starts cold.

    Reading leaves nothing to be written back while the next call runs.
    """

    def __init__(self, backend: DeviceBackend) -> None:
        self._backend = backend
        n_bytes = 2 * backend.last_level_cache_bytes()
        self._buffer = torch.zeros(n_bytes // 4, dtype=torch.float32, device=backend.name)

    def __call__(self) -> None:
        self._buffer.sum()
        self._backend.settle()


@dataclass(frozen=True)
class CallPurpose:
    """Why a call, or a window of them, is made besides its time."""

    take: bool = False
    """Take its outputs."""
    samples: SampleTimes | None = None
    """Stop the child in the middle of the call for samples of its stacks."""
    detector: BackgroundWorkDetector | None = None
    """Watch the device for background work before the call."""
    holds_device: bool = False
    """Have a kernel of the judge's hold the device until the end; the time says little then."""


class Inputs(Protocol):
    """The inputs of timed calls, by number."""

    form: Form

    @property
    def may_share_windows(self) -> bool:
        """True if several calls may be timed together."""

    def of(self, number: int) -> Input:
        """The inputs of this number, which no module that is not trusted has had before."""


class Input(Protocol):
    """The inputs of one timed call."""

    @property
    def draw(self) -> Any:
        """Says how they were drawn, to those who check results."""

    @property
    def arguments(self) -> list[Any]:
        """Not to be written to."""

    @property
    def packed(self) -> Packed | None:
        """The same in one piece of memory."""


class Stopwatch:
    """Times modules that run in their own children."""

    def __init__(
        self, backend: DeviceBackend, *, cache: str, limit_s: float, inputs: Inputs | None = None
    ) -> None:
        """``inputs``: those of windows; None: calls are timed one by one."""
        self.backend = backend
        self.cache = cache
        self.limit_s = limit_s
        self.inputs = inputs
        self.ranked_ns: dict[str, float] = {}
        """The median time of each setting, when they were ranked."""
        self._windows: dict[Runner, Windows] = {}
        self._empty_ns = (0.0, 0.0)
        """The time of a window without calls, and of each empty call in one."""
        self._flush = CacheFlush(backend) if cache == "cold" else None

    @functools.cached_property
    def most_calls(self) -> int:
        """The most calls in a window; 0 if calls of this task are timed one by one."""
        if not self.backend.times_windows:
            return 0
        if self.inputs is None or not self.inputs.may_share_windows:
            return 0
        form, cache_bytes = self.inputs.form, self.backend.last_level_cache_bytes()
        call_bytes = max(1, form.input_bytes + form.output_bytes)
        if self._flush is None:  # the inputs stay where they were written to
            room_bytes = cache_bytes / 2
        elif self.backend.kind == "cpu":
            room_bytes = RING_CACHES * cache_bytes
        else:
            memory_bytes = self.backend.memory_bytes()
            room_bytes = max(memory_bytes * RING_SHARE, min(call_bytes, memory_bytes * LONE_SHARE))
        return min(MOST_CALLS, int(room_bytes // call_bytes))

    def floor_ns(self, n_calls: int) -> float:
        """The time of a call that does nothing in a window of so many: what this clock adds to
        every call, and the least that it can tell."""
        window_ns, call_ns = self._empty_ns
        return call_ns + window_ns / n_calls

    def prioritise(self, runner: Runner) -> None:
        """Let a child run before other programs, if the judge itself can run before the child.

        Otherwise a child that signals completion too early could keep the judge from looking.
        """
        if not self.backend.is_spinning and lead(True):
            lead(False)
            prioritise(runner.child.pid)

    def gathered(self, runners: Iterable[Runner]) -> contextlib.AbstractContextManager[None]:
        """Time these children on equal terms in this context: all on one core where the judge
        polls. The device must be held exclusively."""
        if not self.backend.is_spinning:
            return contextlib.nullcontext()
        return gathered([runner.child.pid for runner in runners])

    def call(
        self, runner: Runner, arguments: list[Any], purpose: CallPurpose = CallPurpose()
    ) -> Call:
        """One timed call, from standstill to standstill.

        Units:
            Nanoseconds of the judge's clock.
        """
        with self._place():
            put = functools.partial(runner.put, arguments)
            self._reveal(put, purpose.detector)
            return runner.call(
                limit_s=self.limit_s,
                take=purpose.take,
                samples=purpose.samples,
                holds_device=purpose.holds_device,
            )

    def window(
        self,
        runner: Runner,
        inputs: Mapping[int, Input],
        taken: Sequence[int] = (),
        purpose: CallPurpose = CallPurpose(),
    ) -> Window:
        """A window of one call on each of these inputs, in this order, at these places of a ring;
        the outputs of those that are ``taken`` come with it, the last call's among them.

        Where calls are not timed in windows it is one call.

        Units:
            Nanoseconds of the judge's clock, for all calls together.
        """
        windows = self.windows_of(runner)
        packed = {place: one.packed for place, one in inputs.items() if one.packed is not None}
        if not windows.are_open or len(packed) < len(inputs):
            [(place, one)] = inputs.items()
            call = self.call(runner, one.arguments, replace(purpose, take=bool(taken)))
            return Window(
                call.elapsed_ns,
                1,
                {place: call} if taken else {},
                [call.claims],
                call.after_ns,
                written={place: runner.changed_arguments(one.arguments)} if taken else {},
            )
        with self._place():
            return windows.run(
                packed,
                taken,
                limit_s=self.limit_s,
                before=functools.partial(self._reveal, detector=purpose.detector),
                samples=purpose.samples,
            )

    def windows_of(self, runner: Runner) -> Windows:
        """The windows of a runner, until it is closed."""
        if runner not in self._windows:
            self._windows[runner] = Windows(runner)
            runner.closing.callback(self._windows.pop, runner, None)
        return self._windows[runner]

    def n_calls(self, runner: Runner) -> int:
        """The calls in a module's windows: as many as take WINDOW_NS, or QUEUED_NS on a GPU if they
        do not wait for the device. It is found by calls on the first ``most_calls`` inputs, which
        are never timed for a verdict; the module is warm then."""
        windows, most = self.windows_of(runner), self.most_calls
        if windows.sizes:
            return windows.n_calls
        windows.sizes[False] = 1
        if (
            self.inputs is None
            or not most
            or (self.backend.kind == "cpu" and self._is_long(runner))
        ):
            return 1
        windows.open(self.inputs.form, most)
        n = windows.sizes[False] = self._grown(runner, 1, WINDOW_NS[self.backend.kind])
        if windows.may_queue:
            windows.is_queued = True
            windows.may_queue = self._tried(runner, 1, QUEUED_NS) is not None
            windows.is_queued = windows.may_queue
        if windows.is_queued:
            windows.sizes[True] = self._grown(runner, n, QUEUED_NS)
        return windows.n_calls

    def queue_calls(self, runners: Iterable[Runner], are_queued: bool = True) -> None:
        """Queue the calls of these modules from now on, where they can be, or none of them."""
        for runner in runners:
            windows = self.windows_of(runner)
            windows.is_queued = windows.may_queue and are_queued

    def even(self, runners: Mapping[str, Runner]) -> None:
        """Give windows of these modules equally many calls, those that the fastest one needs; a
        slow one has MOST_EVENED times its own at most, and its own where a GPU's queue is full.

        What a window costs besides its calls would else be shared unequally: among 190 and among
        256 calls, for one and the same module.

        Raises:
            RunnerFailed: one of them cannot be measured; says which.
        """
        own = {name: self.windows_of(runner).own_calls for name, runner in runners.items()}
        for name, runner in runners.items():
            windows, n = self.windows_of(runner), min(max(own.values()), MOST_EVENED * own[name])
            windows.n_evened = 0
            with named(name):
                if n > own[name] and self._may_have(runner, n):
                    windows.n_evened = n

    def _may_have(self, runner: Runner, n: int) -> bool:
        """True if a module's windows can have so many calls; it has run one of them then."""
        windows = self.windows_of(runner)
        if not windows.are_open:
            assert self.inputs is not None  # another module has windows
            windows.open(self.inputs.form, self.most_calls)
        return self._tried(runner, n, math.inf) is not None

    def _grown(self, runner: Runner, n: int, target_ns: float) -> int:
        """The number of calls in a window that takes so long, from ``n`` on."""
        most = self.most_calls
        for _ in range(MOST_SIZINGS):
            elapsed_ns = self._tried(runner, n, target_ns)
            if elapsed_ns is None:  # the queue is full
                n = most = max(1, n // 4)
            elif elapsed_ns > target_ns / 2 or n == most:
                break
            else:
                n = min(most, math.ceil(n * target_ns / elapsed_ns))
        return n

    def _tried(self, runner: Runner, n: int, target_ns: float) -> float | None:
        """The time of a window of so many calls; None if they are to be queued and cannot be. One
        that is long is tried again: the process may have had to wait for a core."""
        elapsed_ns = math.inf
        for _ in range(N_TRIED):
            window = self._first_window(runner, n)
            self.rest(runner)
            if self.windows_of(runner).is_queued and not window.was_queued:
                return None
            elapsed_ns = min(elapsed_ns, window.elapsed_ns)
            if elapsed_ns < target_ns / 2:
                break
        return elapsed_ns

    def _is_long(self, runner: Runner) -> bool:
        """True if one call takes longer than a window has to, time after time."""
        for number in range(N_TRIED):
            elapsed_ns = self.call(runner, self.inputs_of(number).arguments).elapsed_ns
            self.rest(runner)
            if elapsed_ns < WINDOW_NS[self.backend.kind]:
                return False
        return True

    def _first_window(self, runner: Runner, n: int) -> Window:
        """A window on the first inputs."""
        return self.window(runner, {place: self.inputs_of(place) for place in range(n)})

    def inputs_of(self, number: int) -> Input:
        """The inputs of timed calls of this number."""
        assert self.inputs is not None
        return self.inputs.of(number)

    def _place(self) -> contextlib.AbstractContextManager[None]:
        """Where the judge runs while it times."""
        return contextlib.nullcontext() if self.backend.is_spinning else on_last_core()

    def _reveal(
        self, put: Callable[[], None], detector: BackgroundWorkDetector | None = None
    ) -> None:
        """Write inputs, and make caches cold."""
        if detector is None:
            put()
        else:
            detector.watch(put)
        self.backend.trim_cache()
        if self._flush is not None:
            self._flush()

    def checked_call(self, runner: Runner, arguments: list[Any], *, take: bool = True) -> Call:
        """A call for the sake of its outputs."""
        return self.call(runner, arguments, CallPurpose(take=take))

    def surprise_call(self, runner: Runner, arguments: list[Any], *, take: bool = True) -> Call:
        """The same between timed calls: on a GPU work that the candidate puts off finds the device
        held by a kernel of the judge's."""
        holds_device = self.backend.kind != "cpu"
        return self.call(runner, arguments, CallPurpose(take=take, holds_device=holds_device))

    def rest(self, runner: Runner) -> None:
        """Have a child drop its output, in its next call if it is light, and stand still."""
        runner.release()
        runner.stand_still()

    def rank(self, runners: Mapping[str, Runner], n_rounds: int) -> dict[str, float]:
        """The median time of each, over a few rounds in random order after one not counted.

        Units:
            Nanoseconds of the judge's clock.
        Raises:
            RunnerFailed: one of them cannot be measured; says which.
        """
        samples: dict[str, list[float]] = {name: [] for name in runners}
        for runner in runners.values():
            self.prioritise(runner)
        self.queue_calls(runners.values())
        with self.gathered(runners.values()):
            for name, runner in runners.items():
                with named(name):
                    self.n_calls(runner)
            self.even(runners)
            for _ in range(n_rounds + 1):
                for name in random.sample(list(runners), len(runners)):
                    with named(name):
                        runner = runners[name]
                        window = self._first_window(runner, self.n_calls(runner))
                        samples[name].append(window.call_ns)
                        self.rest(runners[name])
        found = {name: statistics.median(values[1:]) for name, values in samples.items()}
        self.ranked_ns |= found
        return found

    def calibrate(self, runner: Runner) -> None:
        """Measure what a call costs that does nothing but use the device, by a module whose calls
        are such. It is not subtracted; verdicts say it."""
        self.prioritise(runner)
        with self.gathered([runner]):
            n = self.n_calls(runner)
            sizes = (1, n)
            found = {size: list[int]() for size in sizes}
            for _ in range(N_CALIBRATION):
                for size in sizes:
                    found[size].append(self._first_window(runner, size).elapsed_ns)
                    self.rest(runner)
        one_ns, all_ns = (statistics.median(found[size]) for size in sizes)
        call_ns = max(0.0, (all_ns - one_ns) / (n - 1)) if n > 1 else 0.0
        self._empty_ns = (one_ns - call_ns, call_ns)

    def settle_in(self, runner: Runner) -> None:
        """Call a module whose last result is held, as in rounds, until its memory is at rest.

        Where two results of 25 MB live at a time, glibc's heap takes new pages in some seven calls
        and seldom after them: 6 ms instead of 1.4 in the first rounds of a layer norm.
        """
        end_s = time.monotonic() + SETTLING_S
        taken, quiet = faulted_bytes(runner.child.pid), 0
        for _ in range(MOST_SETTLING):
            self._first_window(runner, self.n_calls(runner))
            runner.release(hold=[HELD])
            runner.stand_still()
            before, taken = taken, faulted_bytes(runner.child.pid)
            quiet = quiet + 1 if taken - before < LITTLE_MEMORY else 0
            if quiet == AT_REST or time.monotonic() > end_s:
                return
