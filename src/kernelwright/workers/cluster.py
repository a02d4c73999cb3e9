"""Workers on the nodes of a Ray cluster.

Ray places the work, waits for room, and does again what a lost node was doing; a search that is
done again finds in the archive what it had. Each piece of work runs in a process of its own on its
node, as on one machine, so that the judge's isolation is the same.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from kernelwright.archive.connect import parse, shown
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.judge.devices.gpu import MOST_JUDGES
from kernelwright.workers.cores import own_cores
from kernelwright.workers.in_process import Ending, in_process
from kernelwright.workers.slots import WorkerSlot
from kernelwright.workers.workers import OnStep, Target

AUTO = "auto"
POLL_S, CONNECT_S = 0.5, 10.0
N_RETRIES = 5
"""How often work is begun again because its node or its process was lost."""
MODEL = "accelerator_type:"
"""The name of the resource that Ray gives a node for the model of its GPUs begins so."""


class ClusterWorkers:
    """The nodes of a Ray cluster that have the device; a context that connects and disconnects.

    A GPU is shared by as many searches as on one machine, and a CPU node does one at a time with
    all cores, since timing takes them all. Steps of the work are not told.
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
        self._running: set[Any] = set()

    def __enter__(self) -> ClusterWorkers:
        """Connect.

        Raises:
            DeviceError: no cluster answers, or none of its nodes has the device.
            UsageError: its GPUs are of several models.
        """
        try:
            _require_answer(self._address)
            self._ray.init(address=self._address, log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError) as error:
            raise DeviceError(
                f"no Ray cluster answers at {self._address}",
                seen=str(error).partition("\n")[0][:200],
                do="start one with `ray start --head`, or name its address",
            ) from error
        try:
            self._needs = self._one_search()
        except BaseException:
            self._ray.shutdown()
            raise
        self.jobs = self._jobs or sum(map(self._fitting, self._nodes()))
        return self

    def __exit__(self, *error: object) -> None:
        self._ray.shutdown()

    def target(self, settings: Settings) -> Target:
        nodes = self._nodes()
        hosts = {node["NodeManagerHostname"] for node in nodes}
        archive = parse(settings.archive)
        if archive.get_backend_name() == "sqlite" and hosts != {os.uname().nodename}:
            raise UsageError(
                "a file cannot be the archive of several hosts",
                seen=f"{shown(archive)}, and work on {', '.join(sorted(hosts))}",
                do="name a server: --archive postgresql://USER@HOST/NAME",
            )
        affinity = importlib.import_module("ray.util.scheduling_strategies")
        asked = {
            f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})": self._begin(
                partial(_target, settings),
                self._needs,
                strategy=affinity.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            )
            for node in nodes
        }
        return _the_same({address: _value(self._wait(ref)) for address, ref in asked.items()})

    def run(
        self,
        work: Callable[..., Any],
        *,
        on_step: OnStep | None = None,
        limit_s: float | None = None,
        preload: Sequence[str] = (),
        needs_device: bool = True,
    ) -> Ending:
        needs = self._needs if needs_device else {"CPU": 1.0}
        return self._wait(self._begin(work, needs, limit_s=limit_s, preload=preload))

    def interrupt(self) -> None:
        for reference in list(self._running):
            self._ray.cancel(reference)

    def _begin(
        self,
        work: Callable[..., Any],
        needs: Mapping[str, float],
        *,
        limit_s: float | None = None,
        preload: Sequence[str] = (),
        strategy: Any = "SPREAD",
    ) -> Any:
        # The process of a finished search takes the next one, with torch imported.
        remote = self._ray.remote(max_calls=0)(_on_node).options(
            num_cpus=needs["CPU"],
            num_gpus=needs.get("GPU", 0),
            resources={name: n for name, n in needs.items() if name.startswith(MODEL)},
            max_retries=N_RETRIES,
            scheduling_strategy=strategy,
        )
        reference = remote.remote(work, int(needs["CPU"]), limit_s, tuple(preload))
        self._running.add(reference)
        return reference

    def _wait(self, reference: Any) -> Ending:
        try:
            ending: Ending = self._ray.get(reference)
            return ending
        except self._ray.exceptions.TaskCancelledError:
            return Ending(is_interrupted=True)
        except self._ray.exceptions.RayError as error:
            said = str(error).strip().partition("\n")[0]
            return Ending(died=f"{type(error).__name__}: {said}"[:300])
        finally:
            self._running.discard(reference)

    def _nodes(self) -> list[Mapping[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"] and self._fitting(node)]

    def _fitting(self, node: Mapping[str, Any]) -> int:
        """How many searches fit on a node."""
        has = node["Resources"]
        # Half of a thousandth more: shares of a GPU do not add up to exactly one.
        return int(min(has.get(name, 0.0) / n + 0.0005 for name, n in self._needs.items()))

    def _one_search(self) -> dict[str, float]:
        """The resources that one search takes, by Ray's names."""
        of_cuda = self._device.kind == "cuda"
        nodes = [
            node["Resources"]
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("GPU" if of_cuda else "CPU")
        ]
        if not nodes:
            raise DeviceError(
                "no node of the cluster has the device",
                seen=f"--device {self._device}; `ray status` lists what there is",
                do="add a node that has one, or choose another device",
            )
        if not of_cuda:
            return {"CPU": min(node["CPU"] for node in nodes)}
        n_searches = MOST_JUDGES + 1
        model = self._model(nodes)
        of_model = [node for node in nodes if not model or model in node]
        cores = min(node["CPU"] / (node["GPU"] * n_searches) for node in of_model)
        return {"CPU": max(1.0, cores // 1), "GPU": 1 / n_searches} | (
            {model: 0.001} if model else {}
        )

    def _model(self, nodes: Sequence[Mapping[str, float]]) -> str:
        """The resource of the GPU model that is searched on; '' where Ray knows none."""
        found = sorted({name for node in nodes for name in node if name.startswith(MODEL)})
        wanted = [name for name in found if self._gpu_model in ("", name.removeprefix(MODEL))]
        if len(wanted) > 1 or (self._gpu_model and not wanted):
            models = ", ".join(name.removeprefix(MODEL) for name in found) or "no model known"
            raise UsageError(
                "a suite is searched on GPUs of one model only",
                seen=f"{models}; --gpu-model {self._gpu_model or 'not given'}",
                do="give --gpu-model with one of them, and search once for each model",
            )
        return wanted[0] if wanted else ""


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
        host, _, port = address.removeprefix("ray://").rpartition(":")
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()


def _on_node(
    work: Callable[..., Any], n_cores: int, limit_s: float | None, preload: tuple[str, ...]
) -> Ending:
    """Do the work on this node, in a process of its own on cores of its own.

    Ray interrupts the main thread if the work is cancelled, and the process is then ended as by
    Ctrl-C.
    """
    os.environ.pop("OMP_NUM_THREADS", None)  # Ray's; the judge gives each series its cores
    is_cancelled = threading.Event()

    def run() -> Ending:
        with own_cores(n_cores) as cores:
            return in_process(
                work,
                fork_server=_fork_server(),
                slot=WorkerSlot(os.environ.get("CUDA_VISIBLE_DEVICES", ""), cores),
                limit_s=limit_s,
                preload=preload,
                is_cancelled=is_cancelled.is_set,
            )

    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(run)
        try:
            while not ending.done():
                wait([ending], POLL_S)
        except KeyboardInterrupt:
            is_cancelled.set()
            raise
    return ending.result()


@functools.cache
def _fork_server() -> SharedForkServer:
    """The fork server of this worker process, which ends with it."""
    return contextlib.ExitStack().enter_context(SharedForkServerProcess())


def _target(settings: Settings, fork_server: SharedForkServer) -> Target:
    return Target.of(settings)


def _value(ending: Ending) -> Target:
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
        DeviceError: they differ in what a measured time depends on.
    """
    (first_address, first), *others = targets.items()
    for address, other in others:
        facts, theirs = first.here.told, other.here.told
        for name in sorted({*facts, *theirs}):
            if facts.get(name) != theirs.get(name):
                raise DeviceError(
                    "the nodes of the cluster differ in what times depend on",
                    seen=f"{name}: {facts.get(name)} on {first_address}, "
                    f"{theirs.get(name)} on {address}",
                    do="use nodes that are alike, with the same software",
                )
    return first
