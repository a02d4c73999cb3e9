"""The part of the work on a cluster that runs on its nodes."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kernelwright.core.settings import Settings
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.workers.cores import own_cores
from kernelwright.workers.in_process import Ending, in_process
from kernelwright.workers.slots import WorkerSlot
from kernelwright.workers.workers import OnStep, Target

POLL_S = 0.5
STEP_EVERY_S = 1.0
_HERE: dict[Settings, Ending] = {}
"""This node's description for each settings that work has asked with."""


@dataclass(frozen=True)
class Alike:
    """The properties in which all nodes must agree, so that their times may be compared."""

    settings: Settings
    first: Target
    """The node that all others are compared with."""
    compared: frozenset[str]
    """Ray's names of the nodes that have been compared already."""


@dataclass(frozen=True)
class Unlike:
    """The answer of a node that differs from the first one, or that cannot tell what it is."""

    node: str
    host: str
    why: str


@dataclass(frozen=True)
class Piece:
    """A piece of work, and what it needs on the node."""

    work: Callable[..., Any]
    n_cores: int
    limit_s: float | None = None
    preload: tuple[str, ...] = ()
    folder: str = field(default_factory=os.getcwd)
    """The folder that relative paths are in, where the node has it."""


def do(piece: Piece, alike: Alike | None, on_step: OnStep | None) -> Ending | Unlike:
    """Do a piece of work on this node, in a process of its own on cores of its own.

    Ray interrupts the main thread if the work is cancelled, and the process is then ended as by
    Ctrl-C.
    """
    _settle(piece.folder)
    is_cancelled = threading.Event()
    paced = None if on_step is None else Paced(on_step)

    def run() -> Ending | Unlike:
        with own_cores(piece.n_cores) as cores:
            slot = WorkerSlot(os.environ.get("CUDA_VISIBLE_DEVICES", ""), cores)
            return _compared(alike, slot) or in_process(
                piece.work,
                fork_server=_fork_server(),
                slot=slot,
                on_step=paced,
                limit_s=piece.limit_s,
                preload=piece.preload,
                is_cancelled=is_cancelled.is_set,
            )

    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(run)
        try:
            while not ending.done():
                wait([ending], POLL_S)
        except KeyboardInterrupt:
            is_cancelled.set()
            with _uninterrupted():  # Ray is asked again until the work has ended
                wait([ending])
            raise
    if paced is not None:
        paced.tell_last()
    return ending.result()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _settle(folder: str) -> None:
    """Go to the folder, and unset the number of threads that Ray sets: the judge gives each series
    its cores."""
    os.environ.pop("OMP_NUM_THREADS", None)
    with contextlib.suppress(OSError):
        os.chdir(folder)


def _compared(alike: Alike | None, slot: WorkerSlot) -> Unlike | None:
    """Compare this node with the first one, if it joined after the others were compared."""
    node = _node()
    if alike is None or node in alike.compared:
        return None
    if alike.settings not in _HERE:
        work = partial(target_of, alike.settings)
        _HERE[alike.settings] = in_process(work, fork_server=_fork_server(), slot=slot)
    ending = _HERE[alike.settings]
    if isinstance(ending.value, Target):
        why = difference(alike.first, ending.value)
    else:
        why = str(ending.error) if ending.error else ending.died or "it did not answer"
    return Unlike(node, os.uname().nodename, why) if why else None


def _node() -> str:
    """Return Ray's name of this node."""
    return str(importlib.import_module("ray").get_runtime_context().get_node_id())


def difference(first: Target, other: Target) -> str:
    """The first fact in which two nodes differ, with both values; empty if they are alike."""
    facts, theirs = first.here.told, other.here.told
    for name in sorted({*facts, *theirs}):
        if facts.get(name) != theirs.get(name):
            return f"{name}: {facts.get(name)} on the first, {theirs.get(name)} on this one"
    return ""


class Paced:
    """Tells at most one step a second, notices apart, and the last one: one process receives the
    steps of a whole cluster."""

    def __init__(self, tell: OnStep) -> None:
        self._tell = tell
        self._waiting: list[Any] = []
        self._next_s = 0.0

    def __call__(self, step: Any) -> None:
        self._waiting = [step]
        if time.monotonic() >= self._next_s or getattr(step, "is_notice", False):
            self.tell_last()

    def tell_last(self) -> None:
        """Tell the last step, if it has not been told."""
        for step in self._waiting:
            self._tell(step)
        self._waiting, self._next_s = [], time.monotonic() + STEP_EVERY_S


class Steps:
    """An actor that keeps what nodes say of their work until the one who asked for it takes it."""

    def __init__(self) -> None:
        self._told: list[tuple[int, Any]] = []

    def tell(self, number: int, step: Any) -> None:
        self._told.append((number, step))

    def take(self) -> list[tuple[int, Any]]:
        told, self._told = self._told, []
        return told


class NodeResident:
    """An actor: a process that stays, with cores of its own. It is asked for its ``place`` first,
    once: an error of ``begin`` is raised there, while one raised here would look like a lost node.
    """

    def __init__(
        self, begin: Callable[[], Any], n_cores: int, alike: Alike | None, folder: str
    ) -> None:
        _settle(folder)
        self._stack = contextlib.ExitStack()
        slot = WorkerSlot(cores=self._stack.enter_context(own_cores(n_cores)))
        slot.enter()
        self._begin, self._unlike = begin, _compared(alike, slot)

    def place(self) -> Unlike | str:
        """Begin, and return Ray's name of the node, or why it may not be used."""
        if self._unlike is None:
            self._begin()
        return self._unlike or _node()

    def call(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        return call(*arguments)


def target_of(settings: Settings, fork_server: SharedForkServer) -> Target:
    return Target.of(settings)


@functools.cache
def _fork_server() -> SharedForkServer:
    """The fork server of this worker process, which ends with it."""
    return contextlib.ExitStack().enter_context(SharedForkServerProcess())
