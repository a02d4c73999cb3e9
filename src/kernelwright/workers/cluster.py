"""Workers on the nodes of a Ray cluster.

Ray places the work, waits for room, and does again what a lost node was doing; a search that is
done again finds in the archive what it had. A resident ends with its node, and ``ResidentPool``
begins another one. Each piece of work runs in a process of its own on its node, as on one machine,
so that the judge's isolation is the same. ``node`` is the part that runs there.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

from kernelwright.archive.connect import parse, shown
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.workers import node
from kernelwright.workers.in_process import Ending
from kernelwright.workers.node import Alike, Piece, Unlike
from kernelwright.workers.residents import Resident, State
from kernelwright.workers.slots import searches_a_gpu
from kernelwright.workers.workers import OnStep, Target, WorkersLost

AUTO, CLIENT = "auto", "ray://"
POLL_S, CONNECT_S = 0.5, 10.0
LOOK_S = 5.0
"""Seconds between looks at whether the head still answers, while this process waits for work."""
AWAY_S = 20.0
"""Seconds for which the head may not answer. Ray's own limit is 60 s; it ends this process then,
without an error (RAY_gcs_rpc_server_reconnect_timeout_s)."""
HEAD = "node:__internal_head__"
"""The resource that only the head node has, by Ray's name."""
NODE = "ray.io/node-id"
"""The label that Ray gives every node, with the node's name."""
N_RETRIES = 5
"""How often work is begun again because its node or its process was lost."""
MODEL = "accelerator_type:"
"""The name of the resource that Ray gives a node for the model of its GPUs begins so."""
A_LITTLE = 0.001
"""An amount of such a resource that says where work may be, and leaves enough for all others."""
SPREAD = "SPREAD"
"""Ray's word for giving work to the node with the least: by default it fills one after another."""
_LOG = logging.getLogger("kernelwright")


class ClusterWorkers:
    """The nodes of a Ray cluster that have the device; a context that connects and disconnects.

    A GPU is shared by as many searches as on one machine, and a CPU node does one at a time with
    all cores, since timing takes them all. A node that joins later is compared with the first one
    before it does anything; if it differs it is named in a warning, and gets no work.
    """

    gpus: tuple[int, ...] = ()

    def __init__(
        self, address: str, *, device: str, gpu_model: str = "", jobs: int | None = None
    ) -> None:
        """``address``: 'auto', 'HOST:PORT' or 'ray://HOST:PORT'.

        Raises:
            UsageError: Ray is not installed.
        """
        self._ray = _ray()
        self._address = address
        self._device = Device.parse(device)
        self._gpu_model = gpu_model
        self._jobs = jobs
        self._needs: dict[str, float] = {}
        self._alike: Alike | None = None
        self._unlike: dict[str, Unlike] = {}
        self._running: set[Any] = set()
        self._is_interrupted = False
        self._head = _Head(address)
        # The process of a finished search takes the next one, with torch imported. It is made once,
        # since Ray sends each one that is made to the head, and waits for that.
        self._do = self._ray.remote(max_calls=0)(node.do)
        self._steps: _Steps | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> ClusterWorkers:
        """Connect. Later calls raise WorkersLost if the head answers no more.

        Raises:
            DeviceError: no cluster answers, or none of its nodes has the device.
            UsageError: its GPUs are of several models.
        """
        try:
            _require_answer(self._address)
            self._ray.init(address=self._address, log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError, self._ray.exceptions.RayError) as error:
            raise DeviceError(
                f"no Ray cluster answers at {self._address}",
                seen=str(error).partition("\n")[0][:200],
                do="start one with `ray start --head`, or name its address; where it asks for a "
                "token, set RAY_AUTH_MODE=token and copy ~/.ray/auth_token from its head",
            ) from error
        with contextlib.ExitStack() as stack:
            stack.callback(self._ray.shutdown)
            if not self._address.startswith(CLIENT):
                self._head = _Head(self._ray.get_runtime_context().gcs_address)
            self._needs = self._one_search()
            nodes = self._nodes()
            self.jobs = self._jobs or sum(map(self._fitting, nodes))
            has_gpus = "GPU" in self._needs
            self.n_devices = sum(int(one["Resources"]["GPU"]) if has_gpus else 1 for one in nodes)
            self._steps = stack.enter_context(_Steps(self._ray))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def target(self, settings: Settings) -> Target:
        nodes = self._nodes()
        hosts = {one["NodeManagerHostname"] for one in nodes}
        archive = parse(settings.archive)
        if archive.get_backend_name() == "sqlite" and hosts != {os.uname().nodename}:
            raise UsageError(
                "a file cannot be the archive of several hosts",
                seen=f"{shown(archive)}, and work on {', '.join(sorted(hosts))}",
                do="name a server: --archive postgresql://USER@HOST/NAME",
            )
        piece = Piece(partial(node.target_of, settings), int(self._needs["CPU"]))
        asked = [self._begin(piece, self._needs, labels={NODE: one["NodeID"]}) for one in nodes]
        answers = [self._wait(reference) for reference in asked]
        alive = {one["NodeID"] for one in self._nodes()}
        found = _the_same(
            {
                f"{one['NodeManagerAddress']} ({one['NodeID'][:8]})": _value(answer)
                for one, answer in zip(nodes, answers, strict=True)
                if one["NodeID"] in alive  # the others were lost meanwhile
            }
        )
        self._alike = Alike(settings, found, frozenset(one["NodeID"] for one in nodes))
        return found

    def run(
        self,
        work: Callable[..., Any],
        *,
        on_step: OnStep | None = None,
        limit_s: float | None = None,
        preload: Sequence[str] = (),
        needs_device: bool = True,
    ) -> Ending:
        assert self._steps is not None, "used outside its context"
        needs = self._needs if needs_device else {"CPU": 1.0}
        piece = Piece(work, int(needs["CPU"]), limit_s, tuple(preload))
        with self._steps.passed_on(on_step) as tell:
            while True:
                reference = self._begin(
                    piece,
                    needs,
                    alike=self._alike if needs_device else None,
                    tell=tell,
                    labels=self._allowed(),
                )
                ending = self._wait(reference)
                if isinstance(ending, Ending):
                    return ending
                self.refuse(ending)

    def resident(self, begin: Callable[..., Any], *arguments: Any) -> Resident:
        return _ClusterResident(self, partial(self._actor, partial(begin, *arguments)), self._ray)

    def interrupt(self) -> None:
        self._is_interrupted = True
        for reference in list(self._running):
            self._ray.cancel(reference)

    def _begin(
        self,
        piece: Piece,
        needs: Mapping[str, float],
        *,
        alike: Alike | None = None,
        tell: OnStep | None = None,
        labels: Mapping[str, str],
    ) -> Any:
        self._head.require()
        remote = self._do.options(
            num_cpus=needs["CPU"],
            num_gpus=needs.get("GPU", 0),
            resources=_model_of(needs),
            max_retries=N_RETRIES,
            scheduling_strategy=SPREAD,
            label_selector=dict(labels),
        )
        reference = remote.remote(piece, alike, tell)
        self._running.add(reference)
        return reference

    def _actor(self, begin: Callable[[], Any]) -> Any:
        self._head.require()
        remote = self._ray.remote(node.NodeResident).options(
            num_cpus=self._needs["CPU"],
            num_gpus=self._needs.get("GPU", 0),
            resources=_model_of(self._needs),
            max_restarts=0,
            scheduling_strategy=SPREAD,
            label_selector=self._allowed(),
        )
        return remote.remote(begin, int(self._needs["CPU"]), self._alike, os.getcwd())

    def _allowed(self) -> dict[str, str]:
        """The labels of the nodes that may work: all but those that were refused."""
        return {NODE: f"!in({','.join(self._unlike)})"} if self._unlike else {}

    def is_alive(self, node_id: str) -> bool:
        """Whether a node, by Ray's name of it, is still there."""
        self._head.require()
        return any(one["NodeID"] == node_id and one["Alive"] for one in self._ray.nodes())

    def refuse(self, unlike: Unlike) -> None:
        """Give no more work to a node that differs from the first one."""
        if unlike.node not in self._unlike:
            self._unlike[unlike.node] = unlike
            _LOG.warning(
                "%s joined the cluster and gets no work, because times of it could not stand "
                "beside the others: %s",
                unlike.host,
                unlike.why,
            )

    def get(self, reference: Any) -> Any:
        """Wait for a result as Ray does, but not for a head that is gone.

        Raises:
            WorkersLost: the head is gone.
            RayError: the work failed.
        """
        while True:
            try:
                return self._ray.get(reference, timeout=LOOK_S)
            except self._ray.exceptions.GetTimeoutError:
                self._head.require()
                if self._is_interrupted and reference in self._running:
                    self._ray.cancel(reference)  # again: a node under load may miss one
            except self._ray.exceptions.RayError:
                self._head.require()
                raise

    def kill(self, actor: Any) -> None:
        """End an actor; where the head is gone its node ends it."""
        if not self._head.is_lost:
            self._ray.kill(actor)

    def _wait(self, reference: Any) -> Ending | Unlike:
        """Return how a piece of work ended, or the answer of a node that may not do it."""
        try:
            found: Ending | Unlike = self.get(reference)
            return found
        except self._ray.exceptions.TaskCancelledError:
            return Ending(is_interrupted=True)
        except self._ray.exceptions.RayError as error:
            said = str(error).strip().partition("\n")[0]
            return Ending(died=f"{type(error).__name__}: {said}"[:300])
        finally:
            self._running.discard(reference)

    def _nodes(self) -> list[Mapping[str, Any]]:
        return [one for one in self._ray.nodes() if one["Alive"] and self._fitting(one)]

    def _fitting(self, one: Mapping[str, Any]) -> int:
        """How many searches fit on a node."""
        has = one["Resources"]
        # A little more, because shares of a GPU (a third, say) do not add up to exactly one.
        return int(min(has.get(name, 0.0) / n + 0.0005 for name, n in self._needs.items()))

    def _one_search(self) -> dict[str, float]:
        """The resources that one search takes, by Ray's names."""
        of_cuda = self._device.kind == "cuda"
        nodes = [
            one["Resources"]
            for one in self._ray.nodes()
            if one["Alive"] and {"CPU", "GPU" if of_cuda else "CPU"} <= one["Resources"].keys()
        ]
        if not nodes:
            raise DeviceError(
                "no node of the cluster has the device",
                seen=f"--device {self._device}; `ray status` lists what there is",
                do="add a node that has one, or choose another device",
            )
        if not of_cuda:
            return {"CPU": min(one["CPU"] for one in nodes)}
        model = self._model(nodes)
        of_model = [one for one in nodes if not model or model in one]
        cores = min(one["CPU"] / one["GPU"] for one in of_model)
        n_searches = searches_a_gpu(cores)
        return {"CPU": max(1.0, cores // n_searches), "GPU": 1 / n_searches} | (
            {model: A_LITTLE} if model else {}
        )

    def _model(self, nodes: Sequence[Mapping[str, float]]) -> str:
        """The resource of the GPU model that is searched on; '' where Ray knows none."""
        found = sorted({name for one in nodes for name in one if name.startswith(MODEL)})
        wanted = [name for name in found if self._gpu_model in ("", name.removeprefix(MODEL))]
        if len(wanted) > 1 or (self._gpu_model and not wanted):
            models = ", ".join(name.removeprefix(MODEL) for name in found) or "no model known"
            raise UsageError(
                "a suite is searched on GPUs of one model only",
                seen=f"{models}; --gpu-model {self._gpu_model or 'not given'}",
                do="give --gpu-model with one of them, and search once for each model",
            )
        return wanted[0] if wanted else ""


class _Head:
    """Says whether the head of a cluster is there, before and between calls of Ray: most of them
    wait for a head that is gone, until Ray ends this process."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.is_lost = False

    def require(self) -> None:
        """Wait until the head answers, for ``AWAY_S`` at most.

        Raises:
            WorkersLost: it did not answer, now or earlier.
        """
        until_s = time.monotonic() + AWAY_S
        while not self.is_lost:
            with contextlib.suppress(OSError):
                return _require_answer(self._address)
            self.is_lost = time.monotonic() > until_s
            time.sleep(POLL_S)
        raise WorkersLost(
            "the head of the Ray cluster is gone",
            seen=f"nobody answers at {self._address}",
            do="start the cluster again; the same command goes on",
        )


class _Steps:
    """Passes on what nodes say of their work to the functions that want to know, in a thread."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        on_head = {HEAD: A_LITTLE}  # where it is lost only with the whole cluster
        self._actor = ray.remote(node.Steps).options(num_cpus=0, resources=on_head).remote()
        self._numbers = itertools.count()
        self._wanted: dict[int, OnStep] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> _Steps:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()

    @contextlib.contextmanager
    def passed_on(self, on_step: OnStep | None) -> Iterator[OnStep | None]:
        """Yield what a node calls with its steps, so that ``on_step`` is called here."""
        if on_step is None:
            yield None
            return
        number = next(self._numbers)
        self._wanted[number] = on_step
        try:
            yield partial(_tell, self._actor, number)
            self._pass_on()  # the last ones, which the piece of work said before it ended
        finally:
            del self._wanted[number]

    def _listen(self) -> None:
        while not self._is_over.wait(POLL_S):
            if self._wanted:
                self._pass_on()

    def _pass_on(self) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):  # the head is gone, and says so
            for number, step in self._ray.get(self._actor.take.remote(), timeout=AWAY_S):
                if (on_step := self._wanted.get(number)) is not None:
                    on_step(step)


class _ClusterResident:
    """A process on a node; it ends with the node. One that is refused there begins on another."""

    def __init__(self, workers: ClusterWorkers, make: Callable[[], Any], ray: Any) -> None:
        self._workers, self._make, self._ray = workers, make, ray
        self._thread = ThreadPoolExecutor(1)
        self._node = ""
        """Ray's name of its node; empty while it waits for one."""
        self._begin()

    def _begin(self) -> None:
        self._actor = self._make()
        self._begun = self._actor.place.remote()

    @property
    def state(self) -> State:
        if self._node:
            return "running" if self._workers.is_alive(self._node) else "lost"
        begun, _ = self._ray.wait([self._begun], timeout=0)
        if not begun:
            return "waiting"
        try:
            place = self._workers.get(self._begun)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError:
            return "lost"
        if isinstance(place, Unlike):
            self._workers.refuse(place)
            self._workers.kill(self._actor)
            self._begin()
            return "waiting"
        self._node = place
        return "running"

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Any:
        return self._thread.submit(self._call, call, arguments)

    def shutdown(self) -> None:
        self._thread.shutdown()
        self._workers.kill(self._actor)

    def _call(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        try:
            return self._workers.get(self._actor.call.remote(call, arguments))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise BrokenExecutor(str(error).strip().partition("\n")[0][:300]) from error


def _tell(actor: Any, number: int, step: Any) -> None:
    """Tell a step, and wait until it is known: the end of the work is never known before it."""
    _ray().get(actor.tell.remote(number, step))


def _model_of(needs: Mapping[str, float]) -> dict[str, float]:
    """The part of what a piece of work needs that says which model of GPU it has to be."""
    return {name: n for name, n in needs.items() if name.startswith(MODEL)}


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise UsageError(
            "work on a cluster needs Ray", seen=str(error), do="pip install 'kernelwright[cluster]'"
        ) from error


def _require_answer(address: str) -> None:
    """Raise OSError at once where Ray would try for minutes: nobody listens at HOST:PORT."""
    if address != AUTO:
        host, _, port = address.removeprefix(CLIENT).rpartition(":")
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()


def _value(ending: Ending | Unlike) -> Target:
    assert isinstance(ending, Ending), "a node is compared only where a first one is known"
    if isinstance(ending.value, Target):
        return ending.value
    raise ending.error or DeviceError(
        "a node of the cluster cannot be used",
        seen=ending.died or "it did not answer",
        do="install the same kernelwright on every node; `ray status` shows the nodes",
    )


def _the_same(targets: Mapping[str, Target]) -> Target:
    """The target that all nodes are.

    Raises:
        DeviceError: there is none, or they differ in what a measured time depends on.
    """
    if not targets:
        raise DeviceError(
            "no node of the cluster is left",
            seen="all were lost while they were asked what they are",
            do="see `ray status`, and run the same command again",
        )
    (first_address, first), *others = targets.items()
    for address, other in others:
        if why := node.difference(first, other):
            raise DeviceError(
                "the nodes of the cluster differ in what times depend on",
                seen=f"{why} (the first: {first_address}; this one: {address})",
                do="use nodes that are alike, with the same software",
            )
    return first
