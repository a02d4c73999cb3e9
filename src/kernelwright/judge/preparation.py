"""Candidates on their way to being examined: built ahead, side by side, while others are timed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import torch

from kernelwright.core.candidate import Candidate
from kernelwright.core.evaluation import Evaluation
from kernelwright.judge.children.program import Program
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.draft import Draft
from kernelwright.judge.kinds.sampling import Looks
from kernelwright.judge.machine.layout import is_expanded
from kernelwright.judge.perturb.weight_sets import AS_MADE, USUAL
from kernelwright.judge.reference.oracle import Oracle

BUILD_LIMIT_S = 180.0  # load_inline with CUDA took 30.5 s on an H200 and 90 s on a slow CPU
FIRST_CALL_LIMIT_S = 180.0  # torch.compile on two busy cores took 60 s


@dataclass
class Sight:
    """How it will be seen of what kind a timed candidate is."""

    looks: Looks | None
    """From outside, where that is possible; the rest is up to the child's own profiler."""
    looks_on: bool
    """Whether there have been none yet."""
    profiler: Future[None] | None = None
    """Where one takes long to start."""

    @property
    def is_ready(self) -> bool:
        """Whether ``wait`` would return at once."""
        return self.profiler is None or self.profiler.done()

    def wait(self) -> None:
        """Return when its profiler has started, or failed to: who asks it next learns why."""
        if self.profiler is not None:
            self.profiler.exception()


@dataclass
class Preparation:
    """One candidate with the child that was made for it."""

    candidate: Candidate
    verdict: Draft
    is_timed: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of its child, for its dialect."""
    runner: Runner | None = None
    error: Exception | None = None
    """Why it cannot be examined."""
    sight: Sight | None = None
    """None where nobody asks of what kind it is, or it has not been timed yet."""
    found: Evaluation | None = None
    """The verdict, as soon as there is one."""
    is_abandoned: bool = False

    @property
    def is_starting(self) -> bool:
        """Whether it has no verdict yet because its profiler has not started."""
        return self.found is None and self.sight is not None and not self.sight.is_ready

    def abandon(self) -> None:
        """Let whoever prepares it come to an end soon."""
        self.is_abandoned = True
        if self.runner is not None:
            self.runner.child.kill()

    def close(self) -> None:
        if self.runner is None:
            return
        if self.sight is not None:
            self.runner.child.kill()  # a profiler may still start
            self.sight.wait()
        self.runner.close()


class Line:
    """Preparations in order, the next ones made in threads while the first is examined."""

    def __init__(
        self,
        candidates: Iterable[Candidate],
        admit: Callable[[Candidate], Preparation],
        prepare: Callable[[Preparation], None],
        *,
        length: int,
    ) -> None:
        self._candidates = iter(candidates)
        self._admit, self._prepare = admit, prepare
        self._length = length
        self._waiting: deque[tuple[Preparation, Future[None]]] = deque()
        self._pool = ThreadPoolExecutor(max(1, length), "build")

    def __iter__(self) -> Iterator[Preparation]:
        """Each is ready when it comes; the caller closes it."""
        while True:
            self._fill(max(1, self._length))
            if not self._waiting:
                return
            first, future = self._waiting[0]
            future.result()
            self._waiting.popleft()
            self._fill(self._length)
            yield first

    def heats(self) -> Iterator[list[Preparation]]:
        """Each as many as are made together, all ready; the caller closes them."""
        while True:
            self._fill(self._length)
            if not self._waiting:
                return
            for _, future in self._waiting:
                future.result()
            heat = [preparation for preparation, _ in self._waiting]
            self._waiting.clear()
            yield heat

    def restart(self) -> None:
        """End all that were made ahead, and make them anew when their turn comes."""
        candidates = [preparation.candidate for preparation, _ in self._waiting]
        self._end_waiting()
        self._candidates = chain(candidates, self._candidates)

    def close(self) -> None:
        """End all that were made ahead."""
        self._end_waiting()
        self._pool.shutdown()

    def _fill(self, n: int) -> None:
        for candidate in islice(self._candidates, n - len(self._waiting)):
            preparation = self._admit(candidate)
            self._waiting.append((preparation, self._pool.submit(self._prepare, preparation)))

    def _end_waiting(self) -> None:
        for preparation, future in self._waiting:
            future.cancel()
            preparation.abandon()
        for preparation, future in self._waiting:
            if not future.cancelled():
                future.exception()
            preparation.close()
        self._waiting.clear()


def build(runner: Runner, oracle: Oracle, source: str, entry: str, setting: dict[str, Any]) -> None:
    """Make the module of a source in a child, with the task's weights and arguments."""
    may = {"spare": _tables(oracle), "may_expand": any(map(is_expanded, oracle.example))}
    results, forward = oracle.profile.results, oracle.forward
    may["entries"] = results.entries
    may["poisoned"] = not setting  # the library is trusted
    program = Program(source, entry, forward.initial, forward.weight_seed, setting, **may)
    arguments = oracle.first_arguments
    runner.keeps_arguments = any(results.returned) or any(results.changed)
    runner.changed, runner.nesting = results.changed, results.nesting
    runner.n_entries = len(results.entries)
    runner.build(program, oracle.state(USUAL), arguments, limit_s=BUILD_LIMIT_S)


def _tables(oracle: Oracle) -> tuple[str, ...]:
    """The buffers that no drawing of weights changes: a module may make such tables itself."""
    buffers = {
        name for name, _ in oracle.forward.modules[USUAL].named_buffers(remove_duplicate=False)
    }
    own, others = oracle.state(USUAL), oracle.state(AS_MADE)
    return tuple(n for n in own if n in buffers and torch.equal(own[n], others[n]))


def call_once(runner: Runner, oracle: Oracle) -> None:
    """One call that nobody looks at."""
    runner.put(oracle.first_arguments)
    runner.call(limit_s=FIRST_CALL_LIMIT_S, take=False, may_be_long=True)
    runner.release()
