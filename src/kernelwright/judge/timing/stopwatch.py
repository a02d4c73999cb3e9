"""The stopwatch: timed calls of modules in children, one at a time, all others standing still."""

from __future__ import annotations

import contextlib
import functools
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from kernelwright.core.evaluation import CANDIDATE
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.child import SampleTimes
from kernelwright.judge.sandbox.processes import faulted_bytes
from kernelwright.judge.sandbox.runner import Call, Runner
from kernelwright.judge.timing.background_work import BackgroundWorkDetector
from kernelwright.judge.timing.cores import gathered, lead, on_last_core, prioritise

N_CALIBRATION = 20
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
    """Why a call is made, besides its time."""

    take: bool = False
    """Take its outputs."""
    samples: SampleTimes | None = None
    """Stop the child in the middle of the call for samples of its stacks."""
    detector: BackgroundWorkDetector | None = None
    """Watch the device for background work before the call."""
    holds_device: bool = False
    """Have a kernel of the judge's hold the device until the end; the time says little then."""


class Stopwatch:
    """Times modules that run in their own children."""

    def __init__(self, backend: DeviceBackend, *, cache: str, limit_s: float) -> None:
        self.backend = backend
        self.cache = cache
        self.limit_s = limit_s
        self.overhead_ns = 0
        """The time of an empty call; it is subtracted every time."""
        self.ranked_ns: dict[str, float] = {}
        """The median time of each setting, when they were ranked."""
        self._flush = CacheFlush(backend) if cache == "cold" else None

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
            Nanoseconds of the judge's clock, less the cost of an empty call.
        """
        with contextlib.nullcontext() if self.backend.is_spinning else on_last_core():
            put = functools.partial(runner.put, arguments)
            if purpose.detector is None:
                put()
            else:
                purpose.detector.watch(put)
            self.backend.trim_cache()
            if self._flush is not None:
                self._flush()
            call = runner.call(
                limit_s=self.limit_s,
                take=purpose.take,
                samples=purpose.samples,
                holds_device=purpose.holds_device,
            )
        return replace(call, elapsed_ns=self._net_ns(call.elapsed_ns))

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

    def rank(
        self, runners: Mapping[str, Runner], arguments: list[Any], n_rounds: int
    ) -> dict[str, float]:
        """The median time of each, over a few rounds in random order after one not counted.

        Units:
            Nanoseconds of the judge's clock.
        Raises:
            RunnerFailed: one of them cannot be measured; says which.
        """
        samples: dict[str, list[int]] = {name: [] for name in runners}
        for runner in runners.values():
            self.prioritise(runner)
        with self.gathered(runners.values()):
            for _ in range(n_rounds + 1):
                for name in random.sample(list(runners), len(runners)):
                    with named(name):
                        samples[name].append(self.call(runners[name], arguments).elapsed_ns)
                        self.rest(runners[name])
        found = {name: statistics.median(values[1:]) for name, values in samples.items()}
        self.ranked_ns |= found
        return found

    def calibrate(self, runner: Runner, arguments: list[Any]) -> None:
        """Set ``overhead_ns`` from a module that uses the device once and twice alternately.

        Between the judge's work and a child's a GPU changes its context, which takes 140 µs on an
        H200 and is no call's own: one use costs the change and the use, the second only a use.
        """
        self.prioritise(runner)
        samples = []
        with self.gathered([runner]):
            for _ in range(N_CALIBRATION):
                samples.append(self.call(runner, arguments).elapsed_ns)
                self.rest(runner)
        # The shortest ones: no more may be subtracted than every call costs.
        once_ns, twice_ns = min(samples[::2]), min(samples[1::2])
        self.overhead_ns = min(once_ns, 2 * once_ns - twice_ns)

    def settle_in(self, runner: Runner, arguments: list[Any]) -> None:
        """Call a module whose last result is held, as in rounds, until its memory is at rest.

        Where two results of 25 MB live at a time, glibc's heap takes new pages in some seven calls
        and seldom after them: 6 ms instead of 1.4 in the first rounds of a layer norm.
        """
        end_s = time.monotonic() + SETTLING_S
        taken, quiet = faulted_bytes(runner.child.pid), 0
        for _ in range(MOST_SETTLING):
            self.call(runner, arguments)
            runner.release(hold=[HELD])
            runner.stand_still()
            before, taken = taken, faulted_bytes(runner.child.pid)
            quiet = quiet + 1 if taken - before < LITTLE_MEMORY else 0
            if quiet == AT_REST or time.monotonic() > end_s:
                return

    def _net_ns(self, elapsed_ns: int) -> int:
        """The time without that of an empty call; half of it at least, however short it was."""
        return max(elapsed_ns - self.overhead_ns, elapsed_ns // 2, 1)
