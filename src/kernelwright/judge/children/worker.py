"""The worker: the process that runs a candidate, or a baseline by the very same path.

Nothing here decides anything. The candidate shares this process and may have replaced any of it;
the judge believes no word of it about time, and checks every value.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pickle
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.profiler

from kernelwright.judge.children import counters, poison, resources, wire
from kernelwright.judge.children.counting import counted
from kernelwright.judge.children.loading import load_weights
from kernelwright.judge.machine import cpu
from kernelwright.judge.machine.entries import Path as EntryPath
from kernelwright.judge.machine.entries import anew, has_containers, with_entries
from kernelwright.judge.machine.layout import (
    Slot,
    dtype_name,
    in_layout,
    is_expanded,
    leaves,
    map_tensors,
    view,
    written_out,
)
from kernelwright.judge.machine.lowering import lower

MAX_EVENTS = 10_000
MAX_LAUNCHES = 200
MAX_MESSAGE_CHARS = 4000  # a compiler's first errors fit; the rest repeats them


def serve(sock: socket.socket, bell: socket.socket) -> None:
    """Answer the judge until it hangs up; calls are answered on the bell."""
    torch.set_grad_enabled(False)
    sys.stdout.reconfigure(line_buffering=True)
    worker = Worker(sock, bell)
    while True:
        try:
            request, fds = wire.receive_request(sock)
        except wire.Closed:
            return
        if type(request) is bytes:
            worker.call(request[1:].decode())
        else:
            worker.answer(request, fds)


class Worker:
    """The state of one child: its module, its arguments, the outputs it holds."""

    def __init__(self, sock: socket.socket, bell: socket.socket) -> None:
        self.sock = sock
        self.bell = bell
        self.memory = torch.empty(0, dtype=torch.uint8)
        self.device = torch.device("cpu")
        self.made: dict[str, Any] = {}
        self.namespace: dict[str, Any] = {}
        self.module: Any = None
        self.arguments: list[Any] = []
        self.entries: Sequence[EntryPath] = ()
        self.rings_first = self.graphed = self.may_expand = self.has_containers = False
        self.output: Any = None
        self.held: dict[str, Any] = {}

    def call(self, hold: str = "") -> None:
        """One forward, and the end of the last one's output, which may be held under some names:
        what the judge's clock runs over."""
        self.release(hold=hold.split(",") if hold else [])
        try:
            given = self.given()
            self.output = plain(
                with_entries(self.module(*given), given, self.entries), may_expand=self.may_expand
            )
            del given  # what a module does at its tensors' end belongs to its time
            self.settle()
            if self.rings_first:
                self.bell.send(wire.DONE)
            reply = describe(self.output)
        except BaseException as error:  # a candidate may raise anything, SystemExit included
            reply = describe_error("run", error)
        self.bell.send(json.dumps(reply).encode())

    def given(self) -> list[Any]:
        """The arguments of a call, in lists that are its own: it may change those."""
        return anew(self.arguments) if self.has_containers else self.arguments

    def settle(self) -> None:
        """Return when all work on the device is done."""
        if self.device.type != "cpu":
            torch.cuda.synchronize(self.device)

    def answer(self, request: dict[str, Any], fds: list[int]) -> None:
        stage = request.pop("do")
        try:
            reply = getattr(self, stage)(*fds, **request) or {}
        except BaseException as error:  # as above
            reply = describe_error(getattr(error, "stage", stage), error)
        wire.send_reply(self.sock, reply)

    def map(self, fd: int, *, n_bytes: int, threads: int, device: str, rings_first: bool) -> None:
        """Map the memory that arguments and weights come through. Whose outputs are not read from
        outside ``rings_first`` and then describes them: what is put off until then is late."""
        torch.set_num_threads(threads)
        self.rings_first = rings_first
        self.device = torch.device(device)
        if self.device.type == "cpu":
            with contextlib.suppress(PermissionError):  # the warden places it
                cpu.spread_threads()
            self.memory = cpu.map_shared(fd)
        else:
            from kernelwright.judge.machine import gpu

            self.memory = gpu.map_shared(fd, n_bytes, self.device.index)

    def build(
        self,
        *,
        source: str,
        entry: str,
        initial: bytes,
        seed: int,
        weights: dict[str, Slot],
        setting: dict[str, Any],
        spare: Collection[str] = (),
        may_expand: bool = False,
        entries: Sequence[EntryPath] = (),
        poisoned: bool = False,
    ) -> None:
        """Import the source, construct the module, load the weights, apply a library setting."""
        if poisoned:
            poison.begin(self.device, self.memory.numel())
        self.spare, self.may_expand, self.entries = frozenset(spare), may_expand, entries
        self.made = {"source": source, "entry": entry, "initial": initial}
        with _stage("import"):
            namespace = self.namespace = load_candidate(source, setting)
        with _stage("construct"):
            if entry not in namespace:
                raise NameError(f"the file defines no {entry}")
            torch.manual_seed(seed)
            made = namespace[entry](*pickle.loads(initial))
            if not isinstance(made, torch.nn.Module):
                raise TypeError(f"{entry}(...) is no torch.nn.Module but a {type(made).__name__}")
            self.module = written_out(made.to(self.device))
        self.load(weights=weights)
        if "precision" in setting:
            self.module = lower(self.module, **setting["precision"])
        if "compile" in setting:
            self.module = torch.compile(self.module, **setting["compile"])
        self.graphed = bool(setting.get("cuda_graph"))

    def load(self, *, weights: dict[str, Slot]) -> None:
        """Give the module the reference's weights."""
        with _stage("weights"):
            given = map_tensors(lambda s: view(s, self.memory), weights)
            load_weights(self.module, given, self.spare)

    def set_mode(self, *, training: bool) -> dict[str, Any]:
        """Put the module into training or evaluation mode, if it is in the other; which it was."""
        was = bool(self.module.training)
        if was != training:  # its parts may be in other modes than it
            self.module.train(training)
        return {"training": was}

    def prepare(self, *, arguments: list[Any]) -> None:
        """Make the arguments of the coming calls: views on the shared memory."""
        self.arguments = map_tensors(lambda slot: view(slot, self.memory), arguments)
        self.has_containers = has_containers(self.arguments)
        if self.graphed:
            if self.entries:
                raise RuntimeError("a graph puts nothing into lists that it is given")
            self.module, self.graphed = capture(self.module, self.arguments), False

    def unpoison(self) -> None:
        """Have new memory as it comes."""
        poison.end()

    def copy(self, *, slots: list[Slot], held: str) -> None:
        """Copy the last output, or one that is held, to where the judge can read it."""
        outputs = leaves(self.held[held] if held else self.output)
        for slot, tensor in zip(slots, outputs, strict=True):
            place = view(slot, self.memory)
            in_layout(place, tuple(tensor.shape), tensor.stride()).copy_(tensor)
        self.settle()

    def profile(self) -> dict[str, Any]:
        """One call under torch's profiler: operators, device kernels, wall time."""
        self.module(*self.given())
        self.settle()
        with profiler(self.device) as record:
            start_ns = time.perf_counter_ns()
            self.module(*self.given())
            self.settle()
            wall_ns = time.perf_counter_ns() - start_ns
        events = getattr(record, "profiler", record).function_events or []
        on_cpu = [e for e in events if e.device_type.name == "CPU"]
        return {
            "wall_ns": wall_ns,
            "operators": [(e.name, e.self_cpu_time_total * 1e3) for e in on_cpu][:MAX_EVENTS],
            "kernels": [
                (e.name, e.time_range.elapsed_us() * 1e3)
                for e in events
                if e.device_type.name != "CPU"
            ][:MAX_EVENTS],
        }

    def resources(self, *, counted: bool) -> dict[str, Any]:
        """What is known about the kernels of one call: from compilers, from its launches and,
        where that is wanted, from the device's counters."""
        self.module(*self.given())
        self.settle()
        compiled = resources.compiled(self.namespace)
        if self.device.type == "cpu":
            return {"compiled": compiled, "launches": [], "counters": {}}
        with profiler(self.device) as record:
            self.module(*self.given())
            self.settle()
        return {
            "compiled": compiled,
            "launches": resources.launches(record)[:MAX_LAUNCHES],
            "counters": counters.measure(self.made, self.arguments) if counted else {},
        }

    def count(self) -> dict[str, Any]:
        """The arithmetic of the library's operators in one call."""
        with counted() as counter:
            self.module(*self.given())
        return {"flops": counter.get_total_flops()}

    def graphs(self) -> dict[str, Any]:
        """How many graphs torch.compile has made so far."""
        return {"made": torch._dynamo.utils.counters["stats"]["unique_graphs"]}

    def release(self, *, hold: list[str]) -> None:
        """Drop the last output, or hold it in place of those held under these names."""
        self.held |= dict.fromkeys(hold, self.output)
        self.output = None


def profiler(device: torch.device) -> Any:
    """Torch's profiler, started quickly: only device kernels need Kineto, which takes a second."""
    if device.type == "cpu":
        return torch.autograd.profiler.profile(use_kineto=False)
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    return torch.profiler.profile(activities=kinds)


@contextlib.contextmanager
def _stage(name: str):
    try:
        yield
    except BaseException as error:  # as in Worker.call
        error.stage = name  # type: ignore[attr-defined]
        raise


def load_candidate(source: str, setting: dict[str, Any]) -> dict[str, Any]:
    """The source as a module of its own, from a file, so that inspect finds its text.

    Its folder is the one that the setting names, where the judge is to remove it.
    """
    folder = setting.get("folder") or tempfile.mkdtemp()
    path = Path(tempfile.gettempdir(), folder, "candidate.py")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(source)
    # The scratch lies where the user's /tmp does, and a folder z3 of a compiler's is no package.
    roots = (*setting.get("import_roots", []), *sys.path)
    sys.path[:] = [root for root in roots if root != os.getcwd()]
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    module.__dict__["PAYLOAD"] = setting.get("payload")
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    return module.__dict__


def capture(module: Any, arguments: list[Any]) -> Any:
    """``module`` in a CUDA graph: inputs are copied in, outputs copied out, as a user would.

    Raises:
        RuntimeError: it cannot be captured.
    """
    static = map_tensors(torch.clone, arguments)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # as torch.cuda.make_graphed_callables warms up
            module(*anew(static))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = module(*anew(static))
    inputs = leaves(static)

    def replay(*given: Any) -> Any:
        for mine, yours in zip(inputs, leaves(list(given)), strict=True):
            mine.copy_(yours)
        graph.replay()
        return map_tensors(torch.clone, output)

    return replay


def plain(value: Any, *, may_expand: bool = False) -> Any:
    """A result with its named tuples and the like as plain ones: what they hold is taken now.

    So are a parameter's numbers, and what torch has put off: conjugates and negatives, and to write
    what is expanded, unless it ``may_expand``. A tensor's memory is held by another one than its
    maker's, as by a caller who keeps a view: who watches his own object sees it go at once.
    """
    if type(value) is torch.nn.Parameter:
        value = value.data
    if type(value) is torch.Tensor:
        if not may_expand and is_expanded(value):
            value = value.contiguous()
        return value.resolve_conj().resolve_neg().detach()
    if isinstance(value, (tuple, list)):
        items = [plain(item, may_expand=may_expand) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def describe(value: Any) -> Any:
    """Where the outputs lie, as JSON; what is not plain is named by its type."""
    if type(value) is torch.Tensor:
        if value.layout is not torch.strided or value.is_conj() or value.is_neg():
            return {"other": "a tensor that is not materialised"}
        place = [value.data_ptr(), list(value.shape), list(value.stride())]
        return {"tensor": [*place, dtype_name(value.dtype), value.device.type]}
    if type(value) in (list, tuple):
        return {type(value).__name__: [describe(item) for item in value]}
    if type(value) is dict:
        return {"dict": {str(key): describe(item) for key, item in value.items()}}
    if value is None or type(value) in (bool, int, float, str):
        return {"plain": value}
    return {"other": type(value).__name__}


def describe_error(stage: str, error: BaseException) -> dict[str, Any]:
    """An error as JSON: what failed, the message, and the candidate's own lines of the trace."""
    lines = traceback.extract_tb(error.__traceback__)
    own = [f"line {f.lineno}: {f.line}" for f in lines if f.filename.endswith("candidate.py")]
    try:
        message = str(error)
    except BaseException:  # an exception of the candidate's, whose __str__ fails
        message = ""
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS // 2] + " … " + message[-MAX_MESSAGE_CHARS // 2 :]
    return {"error": {"stage": stage, "type": type(error).__name__, "message": message, "at": own}}
