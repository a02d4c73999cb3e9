"""The processes of one judge: its fork server, and the runners that are forked from it.

All are forked from one process, whatever their environments. A core that has just run one of them
runs the next one's call faster if both have their memory from the same process: on a Zen 5 core a
softmax of 0.13 ms took 0.10 after a relative's call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace

import torch

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.fork_server import READ_AT_IMPORT, ForkServer, SharedForkServer
from kernelwright.judge.sandbox.isolation import NO_OPTIONS, ChildOptions
from kernelwright.judge.sandbox.layout import Region
from kernelwright.judge.sandbox.outputs import ResultForm
from kernelwright.judge.sandbox.runner import Runner

REFUSALS = tuple(map(frozenset, ((), ("processes",), ("processes", "filesystem"))))
"""Sets of guarantees to do without, tried in this order until the device works."""


class RunnerFactory:
    """Makes isolated children for a device; several threads may ask for them at the same time."""

    def __init__(
        self,
        device: Device,
        backend: DeviceBackend,
        *,
        threads: int,
        shared: SharedForkServer | None = None,
    ) -> None:
        self._device, self._backend, self._threads = device, backend, threads
        self._shared = shared
        *cores, _ = sorted(os.sched_getaffinity(0))
        # A child that may use all cores needs no confining. Judges side by side begin at different
        # ones; the last is the judge's own while it looks at the clock.
        first = os.getpid() % len(cores) if cores else 0
        is_narrow = backend.kind == "cpu" and threads <= len(cores)
        self._cores = tuple([*cores[first:], *cores[:first]][:threads]) if is_narrow else ()
        self._servers: dict[frozenset[tuple[str, str]], ForkServer] = {}
        self._refuse: frozenset[str] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the fork server without waiting for it."""
        self.fork_server(NO_OPTIONS)

    def fork_server(self, options: ChildOptions) -> ForkServer:
        """The fork server for a child; it starts now if there is none, and is not waited for.
        Variables that no library reads when it is imported make no difference."""
        early = {n: options.variables[n] for n in READ_AT_IMPORT & options.variables.keys()}
        key = frozenset(early.items())
        with self._lock:
            if key not in self._servers:
                shared = None if early else self._shared
                variables = {**self._backend.visibility, **early}
                self._servers[key] = ForkServer(variables, threads=self._threads, shared=shared)
            return self._servers[key]

    def make(
        self,
        like: list[torch.Tensor],
        options: ChildOptions = NO_OPTIONS,
        *,
        region: Region | None = None,
    ) -> Runner:
        """A runner in a new child; ``like``: its outputs without memory.

        Raises:
            DeviceError: none can be made, or the device does not work in it.
            Refused: it lacks memory for the first one.
        """
        server = self.fork_server(options)

        def make(refuse: frozenset[str]) -> Runner:
            on_gpu = self._backend.kind != "cpu"
            child = server.fork(replace(options, refuse=refuse, cores=self._cores, on_gpu=on_gpu))
            form = ResultForm(like)
            return Runner(child, self._backend, form, threads=self._threads, region=region)

        with self._lock:
            if self._refuse is None:
                return self._make_first(make)
        return make(self._refuse)

    def pids(self) -> list[int]:
        """The fork servers' processes: all of the judge's children are below them."""
        with self._lock:
            return [server.pid for server in self._servers.values() if server.pid is not None]

    def close(self) -> None:
        """End all of them; threads that wait for one wait no longer."""
        for server in self._servers.values():
            server.close()

    def _make_first(self, make: Callable[[frozenset[str]], Runner]) -> Runner:
        """The first runner; it shows with which guarantees the device works in a child.

        Source:
            CUDA does not start in some process namespaces (error 304, "OS call failed").
        """
        if self._backend.reads_from_outside:
            self._refuse = frozenset()
            return make(self._refuse)
        reasons = []
        for refused in REFUSALS:
            runner = make(refused)
            try:
                runner.try_device()
            except Refused as error:
                runner.close()
                if error.status is Status.TIMEOUT or error.says_no_memory:
                    # Another's candidate may hold the device: that is no reason to isolate less.
                    raise Refused(ReasonCode.NOT_STARTED, str(error)) from error
                reasons.append(str(error))
            except BaseException:
                runner.close()
                raise
            else:
                self._refuse = refused
                return runner
        raise DeviceError(
            f"{self._device} does not work in a separate process",
            seen="; ".join(dict.fromkeys(reasons))[:500],
            do="run `kernelwright doctor`, and check the driver and its device files",
        )
