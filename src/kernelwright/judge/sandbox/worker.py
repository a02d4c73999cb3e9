"""The worker: the process that runs a candidate, or a baseline by the very same path.

Nothing is decided here. The candidate shares this process and may have replaced any of its code;
the judge does not believe what it says about time, and checks every value.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import pickle
import socket
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.profiler

from kernelwright.core.collector import collector_off
from kernelwright.dialects import compile_shader, reports
from kernelwright.judge.devices import cpu, cuda_driver
from kernelwright.judge.sandbox import counters, fresh_memory, protocol
from kernelwright.judge.sandbox.blank import WORTH_BYTES, made_blank
from kernelwright.judge.sandbox.compiling import compile_side_by_side
from kernelwright.judge.sandbox.entries import fresh_containers, has_containers, with_entries
from kernelwright.judge.sandbox.flop_count import counting_flops
from kernelwright.judge.sandbox.gate import GateInChild
from kernelwright.judge.sandbox.isolation import READY_BUILDS
from kernelwright.judge.sandbox.layout import (
    PROGRESS_BYTES,
    Slot,
    dtype_name,
    in_layout,
    is_expanded,
    leaves,
    map_tensors,
    view,
    written_out,
)
from kernelwright.judge.sandbox.lowering import lower
from kernelwright.judge.sandbox.program import LibrarySetup, Program, load_source
from kernelwright.judge.sandbox.weights import load_weights
from kernelwright.loaders.plain import named_parts

MAX_EVENTS = 10_000
MAX_LAUNCHES = 200
MAX_MESSAGE_CHARS = 4000  # a compiler's first errors fit; the rest repeats them


def serve(sock: socket.socket, completion: socket.socket) -> None:
    """Answer the judge until it hangs up; calls are answered on ``completion``.

    Requests are about one module until the judge turns to another one: library settings share a
    process.
    """
    torch.set_grad_enabled(False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    workers = defaultdict[int, Worker](lambda: Worker(sock, completion))
    worker = workers[0]
    while True:
        try:
            request, fds = protocol.receive_request(sock)
        except protocol.Closed:
            return
        if type(request) is bytes:
            worker.call(protocol.Go.of(request))
        elif request["do"] == protocol.TURN_TO:
            worker = workers[request["module"]]
            protocol.send_reply(sock, {})
        else:
            worker.answer(request, fds)


class Worker:
    """One module of a child, its arguments, the outputs it holds."""

    def __init__(self, sock: socket.socket, completion: socket.socket) -> None:
        self.sock, self.completion = sock, completion
        self.memory = torch.empty(0, dtype=torch.uint8)
        self.device = torch.device("cpu")
        self.program = Program("", "", b"", 0)
        self.namespace: dict[str, Any] = {}
        self.module: Any = None
        self.arguments: list[Any] = []
        self.signals_first = self.has_containers = False
        self.ring: list[list[Any]] = []
        self.ring_memory = self.memory
        self.gate: GateInChild | None = None
        self.progress = ctypes.c_int32()
        """The calls of a window that have returned; the judge reads it on a CPU."""
        self.outputs: list[Any] = []
        """The outputs of the last calls; of one call unless they were a window's."""
        self.held: dict[str, Any] = {}

    def call(self, go: protocol.Go = protocol.ONE_CALL) -> None:
        """One forward, or a window of them. The last outputs are dropped first, or the very last
        held under some names: the judge's clock runs over that, too, unless calls are gated."""
        self.release(hold=go.hold.split(",") if go.hold else [])
        try:
            if go.is_gated and self.gate is not None:
                self.gate.wait()
            for place in go.order:
                self.outputs.append(self.forward(self.ring[place]))
                self.progress.value += 1
            if not go.order:
                self.outputs.append(self.forward(self.arguments))
            if go.is_gated:
                self.completion.send(protocol.QUEUED)
            self.settle()
            if self.signals_first:
                self.completion.send(protocol.DONE)
            reply = describe(self.outputs[-1])
            if go.order:
                reply = {"last": reply, "addresses": [addresses(one) for one in self.outputs]}
        except BaseException as error:  # a candidate may raise anything, SystemExit included
            reply = describe_error("run", error)
        self.completion.send(json.dumps(reply).encode())

    def forward(self, arguments: list[Any]) -> Any:
        """One result, in plain containers. Tensors of its own end with the call, for a module's
        work at their end belongs to its time."""
        given = fresh_containers(arguments) if self.has_containers else arguments
        entries = self.program.entries
        result = self.module(*given)
        if entries:
            result = with_entries(result, given, entries)
        return plain(result, may_expand=self.program.may_expand)

    def given(self) -> list[Any]:
        """The arguments of a call, in lists of its own, which it may change."""
        return fresh_containers(self.arguments) if self.has_containers else self.arguments

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
        protocol.send_reply(self.sock, reply)

    def map(self, fd: int, *, n_bytes: int, threads: int, device: str, signals_first: bool) -> None:
        """Map the memory that arguments and weights come through.

        Where the judge cannot read outputs from outside, the worker ``signals_first`` and then
        describes them: work that is put off until then is late.
        """
        torch.set_num_threads(threads)
        self.signals_first = signals_first
        self.device = torch.device(device)
        if self.device.type == "cpu":
            with contextlib.suppress(PermissionError):  # the supervisor places it
                cpu.spread_threads()
        self.memory = self._mapped(fd, n_bytes)

    def map_ring(
        self, fd: int, *gate: int, n_bytes: int, entries: list[list[Any]]
    ) -> dict[str, bool]:
        """Map the memory of a ring, and of its gate on a GPU; whether there is a gate, for a driver
        may refuse that. ``entries``: the places of the arguments of each call."""
        self.ring_memory = self._mapped(fd, n_bytes)
        self.ring = [
            map_tensors(lambda slot: view(slot, self.ring_memory), entry) for entry in entries
        ]
        if self.device.type == "cpu":
            cpu.keep_freed_memory()
            end = self.ring_memory.data_ptr() + self.ring_memory.numel()
            self.progress = ctypes.c_int32.from_address(end - PROGRESS_BYTES)
        for fd in gate:
            with contextlib.suppress(RuntimeError):
                self.gate = GateInChild(fd, self.device)
        return {"has_gate": self.gate is not None}

    def _mapped(self, fd: int, n_bytes: int) -> torch.Tensor:
        if self.device.type == "cpu":
            return cpu.map_shared(fd)
        return cuda_driver.map_shared(fd, n_bytes, self.device.index)

    def build(self, *, program: Program, weights: dict[str, Slot]) -> None:
        """Import the source, construct the module, load the weights, apply a library setting."""
        self.program, setup = program, program.setup or LibrarySetup()
        if program.fills_fresh_memory:
            fresh_memory.begin_filling(self.device, self.memory.numel())
        compile_shader.install_where_asked()
        with _stage("import"):
            link_libraries()
            namespace = self.namespace = load_source(program.source, setup)
        with _stage("construct"):
            if program.entry not in namespace:
                raise NameError(f"the file defines no {program.entry}")
            made = self._constructed(namespace[program.entry], weights)
            if not isinstance(made, torch.nn.Module):
                kind = type(made).__name__
                raise TypeError(f"{program.entry}(...) is no torch.nn.Module but a {kind}")
            if program.mode:
                made.train(program.mode == "train")
            self.module = written_out(made.to(self.device))
        self.load(weights=weights)
        if setup.precision:
            self.module = lower(self.module, setup.precision, setup.is_held)
        if setup.compile is not None:
            if setup.compilers > 1:
                compile_side_by_side(setup.compilers, self.device)
            self.module = torch.compile(self.module, **setup.compile)

    def _constructed(self, kind: Any, weights: dict[str, Slot]) -> Any:
        """The module as its constructor makes it, or with arbitrary values in place of large
        weights of a trusted one, which are loaded next."""
        program = self.program
        initial = pickle.loads(program.initial)

        def make() -> Any:
            torch.manual_seed(program.seed)
            return kind(*initial)

        n_bytes = sum(slot.span_bytes for slot in leaves(weights))
        if program.may_be_blank and n_bytes >= WORTH_BYTES:
            blank = made_blank(make, weights, self.device)
            if blank is not None:
                return blank
        return make()

    def load(self, *, weights: dict[str, Slot]) -> None:
        """Give the module the reference's weights."""
        with _stage("weights"):
            given = map_tensors(lambda s: view(s, self.memory), weights)
            load_weights(self.module, given, self.program.spare)

    def set_mode(self, *, training: bool) -> dict[str, Any]:
        """Put the module into training or evaluation mode; the mode that it was in."""
        was = bool(self.module.training)
        if was != training:  # its parts may be in other modes than it
            self.module.train(training)
        return {"training": was}

    def prepare(self, *, arguments: list[Any]) -> None:
        """Make the arguments of the coming calls: views on the shared memory."""
        self.arguments = map_tensors(lambda slot: view(slot, self.memory), arguments)
        self.has_containers = has_containers(self.arguments)
        setup = self.program.setup
        if setup is not None and setup.cuda_graph and not isinstance(self.module, Replay):
            if self.program.entries:
                raise RuntimeError("a graph puts nothing into lists that it is given")
            self.module = Replay(self.module, self.arguments)

    def end_filling(self) -> None:
        """Leave fresh memory as it comes from now on."""
        fresh_memory.end_filling()

    def copy(self, *, slots: list[Slot], held: str) -> None:
        """Copy the last output, or one that is held, into the shared memory."""
        _copy(self.held[held] if held else self.outputs[-1], slots, self.memory)
        self.settle()

    def copy_calls(self, *, calls: list[int], slots: list[list[Slot]]) -> None:
        """Copy the outputs of some calls of the last window into the ring's memory."""
        for number, places in zip(calls, slots, strict=True):
            _copy(self.outputs[number], places, self.ring_memory)
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
        """Facts about the kernels of one call: from compilers, from its launches and, if asked,
        from the device's counters."""
        self.module(*self.given())
        self.settle()
        compiled = reports.compiled(self.namespace)
        if self.device.type == "cpu":
            return {"compiled": compiled, "launches": [], "counters": {}}
        with profiler(self.device) as record:
            self.module(*self.given())
            self.settle()
        return {
            "compiled": compiled,
            "launches": reports.launches(record)[:MAX_LAUNCHES],
            "counters": counters.measure(self.program, self.arguments) if counted else {},
        }

    def count(self) -> dict[str, Any]:
        """The arithmetic of the library's operators in one call."""
        with counting_flops() as counter:
            self.module(*self.given())
        return {"flops": counter.get_total_flops()}

    def graphs(self) -> dict[str, Any]:
        """The number of graphs torch.compile has made so far."""
        return {"made": torch._dynamo.utils.counters["stats"]["unique_graphs"]}

    def drop(self) -> None:
        """Give up the module with its memory; the others of the process go on."""
        self.module = None
        self.namespace, self.held = {}, {}
        self.arguments, self.outputs, self.ring = [], [], []
        if self.program.setup is not None and self.program.setup.compile is not None:
            gc.collect()  # a third of a second, and others lie in no cycles
        if self.device.type != "cpu":
            if self.ring_memory.numel():
                cuda_driver.unmap(self.ring_memory)
            torch.cuda.empty_cache()

    def release(self, *, hold: list[str]) -> None:
        """Drop the last output, or hold it in place of the outputs held under these names."""
        if self.outputs:
            self.held |= dict.fromkeys(hold, self.outputs[-1])
        self.outputs = []


def link_libraries() -> None:
    """Let the scratch hold the libraries in C++ that the judge has given the child, under the names
    to which it would compile the same."""
    if given := os.environ.get(READY_BUILDS):
        for library in Path(given).glob("*.so"):
            with contextlib.suppress(FileExistsError):  # another module of this child has had them
                Path(os.environ["TORCH_EXTENSIONS_DIR"], library.name).symlink_to(library)


def _copy(output: Any, slots: list[Slot], memory: torch.Tensor) -> None:
    for slot, tensor in zip(slots, leaves(output), strict=True):
        place = view(slot, memory)
        in_layout(place, tuple(tensor.shape), tensor.stride()).copy_(tensor)


def addresses(value: Any) -> list[int]:
    """The addresses of an output's tensors, in order; their layout is the last one's."""
    tensors = [value] if type(value) is torch.Tensor else leaves(value)
    return [tensor.data_ptr() for tensor in tensors]


def profiler(device: torch.device) -> Any:
    """Torch's profiler, started quickly: only device kernels need Kineto, which takes a second."""
    if device.type == "cpu":
        return torch.autograd.profiler.profile(use_kineto=False)
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    return torch.profiler.profile(activities=kinds)


@contextlib.contextmanager
def _stage(name: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:  # as in Worker.call
        error.stage = name  # type: ignore[attr-defined]
        raise


class Replay:
    """A module in a CUDA graph: inputs are copied in and outputs copied out, as a user would.

    Raises:
        RuntimeError: it cannot be captured, or every call puts other tensors into the module, of
            which a replay would know nothing.
    """

    def __init__(self, module: Any, arguments: list[Any]) -> None:
        self._module = module  # a replay reads its weights
        static = map_tensors(torch.clone, arguments)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):  # as torch.cuda.make_graphed_callables warms up
                module(*fresh_containers(static))
        torch.cuda.current_stream().wait_stream(side)
        held = held_tensors(module)
        self._graph = torch.cuda.CUDAGraph()
        with collector_off(), torch.cuda.graph(self._graph):
            self._output = plain(module(*fresh_containers(static)), may_expand=True)
        if list(map(id, held)) != list(map(id, held_tensors(module))):
            raise RuntimeError("a graph cannot replay a call that puts tensors into its module")
        self._inputs = leaves(static)

    def __call__(self, *given: Any) -> Any:
        for mine, yours in zip(self._inputs, leaves(list(given)), strict=True):
            mine.copy_(yours)
        self._graph.replay()
        return map_tensors(torch.clone, self._output)


def held_tensors(module: Any) -> list[torch.Tensor]:
    """The tensors that a module and its parts hold, as weights and as plain attributes; none if it
    is a plain function."""
    parts = module.modules() if isinstance(module, torch.nn.Module) else ()
    tables = ((part._parameters, part._buffers, vars(part)) for part in parts)
    values = (value for some in tables for table in some for value in table.values())
    return [value for value in values if isinstance(value, torch.Tensor)]


def plain(value: Any, *, may_expand: bool = False) -> Any:
    """A result in plain tuples, lists and dictionaries, with everything computed that torch or a
    subclass has put off: the items of a tuple, conjugates, negatives, and expanded memory unless it
    ``may_expand``.

    A tensor's memory is then held by another object than its maker's, as by a caller who keeps a
    view: a candidate that watches its own object sees it go at once.
    """
    if type(value) is torch.nn.Parameter:
        value = value.data
    if type(value) is torch.Tensor:
        if not (may_expand or value.is_contiguous()) and is_expanded(value):
            value = value.contiguous()
        return value.resolve_conj().resolve_neg().detach()
    if isinstance(value, (tuple, list)):
        items = [plain(item, may_expand=may_expand) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    named = named_parts(value)
    if named is not None:
        return {name: plain(item, may_expand=may_expand) for name, item in named.items()}
    return value


def describe(value: Any) -> Any:
    """The places of the outputs, as JSON; anything but plain values is named by its type."""
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
    """An error as JSON: its stage, type and message, and the candidate's own lines of the trace."""
    lines = traceback.extract_tb(error.__traceback__)
    own = [f"line {f.lineno}: {f.line}" for f in lines if f.filename.endswith("candidate.py")]
    try:
        message = str(error)
    except BaseException:  # an exception of the candidate's, whose __str__ fails
        message = ""
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS // 2] + " … " + message[-MAX_MESSAGE_CHARS // 2 :]
    return {"error": {"stage": stage, "type": type(error).__name__, "message": message, "at": own}}
