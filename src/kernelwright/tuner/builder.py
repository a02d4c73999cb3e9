"""Compiles Triton kernels ahead, side by side, in processes that use no GPU.

A candidate's forward runs on tensors without memory, and each launch only compiles its kernel. What
comes of it lies in Triton's cache, where the worker finds it. A candidate that cannot be compiled
so is compiled by the worker. It meets a compile error of the candidate's own again; any other
reason is a fault of ours, or of the machine, and is reported.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import hashlib
import json
import multiprocessing
import os
import signal
import tempfile
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import torch

from kernelwright.compiler.codegen.gpu.replay import BEGINNER, RUNNER
from kernelwright.judge.sandbox.layout import map_tensors
from kernelwright.tuner import modules
from kernelwright.tuner.question import Question

LIMIT_S = 120
"""Longest time in seconds for one candidate, and for one kernel."""
NICENESS, STEP, LOWEST = 5, 2, 19
"""Builds leave the processor to what is timed, and the later ones to the first, which promise more:
each is by a step less urgent than the one before."""
SIDE_BY_SIDE = 4
"""Number of kernels of one candidate that are compiled at a time."""
CORES_SHARE = 0.5
"""Share of the cores that compile kernels for one search: others of a suite run beside it."""
MOST_BYTES = 4096
"""Number of bytes that a process says about its end at most; a pipe takes them at once."""
MOST_LETTERS = 500
"""Number of letters of an error that are told."""


@dataclass(frozen=True)
class Ahead:
    """The outcome of compiling a candidate ahead of its trial."""

    name: str
    is_compiled: bool
    fault: str = ""
    """Why it was not compiled; empty for a compile error of its own, and for one that takes too
    long, which the worker meets again."""


class _Child(NamedTuple):
    """A process that compiles a candidate; one without a name compiles the driver."""

    pid: int
    name: str
    said_fd: int
    """The memory in which it leaves whether all was compiled, and the fault."""


def serve_builds(channel: Connection, question: Question, architecture: str) -> None:
    """Compile the sources that come, each with its name and entry; answer with what came of each.
    Ends when the other side hangs up."""
    torch.set_grad_enabled(False)
    os.nice(NICENESS)
    n_begun, n_cores = 0, len(os.sched_getaffinity(0))
    kernels = Kernels(max(2, int(CORES_SHARE * n_cores)))
    compile_without_gpu(int(architecture.removeprefix("sm_").rstrip("a")), kernels)
    meta = map_tensors(lambda tensor: tensor.to("meta"), question.arguments)
    n_jobs = max(1, n_cores - 2)
    waiting: deque[tuple[str, str, str]] = deque()
    running: dict[int, _Child] = {}
    said_fd = os.memfd_create("said")
    pid = os.fork()
    if pid == 0:
        compile_driver()
        os._exit(0)
    running[os.pidfd_open(pid)] = _Child(pid, "", said_fd)
    while True:
        for ready in wait([channel, *running]):
            if ready is channel:
                try:
                    waiting += channel.recv()
                except EOFError:
                    return
            elif isinstance(ready, int):
                ended = _outcome(running.pop(ready))
                os.close(ready)
                if ended.name:
                    channel.send(ended)
        while waiting and len(running) < n_jobs:
            name, source, entry = waiting.popleft()
            said_fd = os.memfd_create("said")
            pid = os.fork()
            if pid == 0:
                os.nice(min(LOWEST - NICENESS, STEP * n_begun))
                _compile(source, entry, question, meta, kernels, said_fd)
            running[os.pidfd_open(pid)] = _Child(pid, name, said_fd)
            n_begun += 1


def _outcome(child: _Child) -> Ahead:
    """Wait for a process's end; return what came of its candidate."""
    _, status = os.waitpid(child.pid, 0)
    said = os.pread(child.said_fd, MOST_BYTES, 0)
    os.close(child.said_fd)
    is_compiled, fault = json.loads(said) if said else (False, _ending(status))
    return Ahead(child.name, is_compiled, fault)


def _ending(status: int) -> str:
    """Return how a process ended that has said nothing; empty if that was the limit of its time."""
    if not os.WIFSIGNALED(status):
        return f"its process ended with exit code {os.WEXITSTATUS(status)}"
    number = os.WTERMSIG(status)
    return "" if number == signal.SIGALRM else f"its process ended by signal {number}"


def fault_of(error: BaseException) -> str:
    """Return what an error was and where; empty if it is the candidate's own compile error: of
    Python, of Triton's language, or of the passes and programs that its backends run."""
    from triton.errors import TritonError

    at = traceback.extract_tb(error.__traceback__)[-1]
    is_of_passes = type(error) is RuntimeError and "triton/backends/" in at.filename
    if isinstance(error, (SyntaxError, TritonError)) or is_of_passes:
        return ""
    place = f"{Path(at.filename).name}, line {at.lineno}, in {at.name}"
    return f"{type(error).__name__}: {str(error)[:MOST_LETTERS]} ({place})"


def remember_tritons_version() -> None:
    """Have Triton read all of its files, which takes half a second of a core, here and not in every
    process that is forked from this one."""
    with contextlib.suppress(ImportError):
        from torch._inductor.runtime.triton_compat import triton_key

        triton_key()


class Kernels:
    """Compiles kernels side by side, each in a process that is forked from this one."""

    def __init__(self, n_at_a_time: int) -> None:
        """``n_at_a_time``: how many are compiled at a time by all processes that are forked from
        this one."""
        self._free = multiprocessing.get_context("fork").Semaphore(n_at_a_time)
        self._running: deque[tuple[int, int]] = deque()
        """The number of each process, and the end of the pipe that gives its kernel's name."""
        self._begun: set[tuple[Any, ...]] = set()
        self._names: set[str] = set()
        self.all_compiled, self.fault = True, ""
        """The fault is the first one, if there is any."""

    def compile(self, kernel: Any, grid: Any, arguments: Sequence[Any], options: Any) -> None:
        """Begin to compile a kernel for these arguments, if that has not begun yet."""
        form = (id(kernel), *map(_form, arguments), *map(str, options.items()))
        if form in self._begun:
            return
        self._begun.add(form)
        if len(self._running) >= SIDE_BY_SIDE:
            self._wait_for_one()
        read_fd, write_fd = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                with self._free:
                    signal.alarm(LIMIT_S)
                    compiled = kernel.warmup(*arguments, grid=grid, **options)
                    compile_launcher(compiled)
                said = [cache_entry(compiled.hash), ""]
            except BaseException as error:
                said = ["", fault_of(error)]
            os.write(write_fd, json.dumps(said).encode())
            os._exit(0)
        os.close(write_fd)
        self._running.append((pid, read_fd))

    def finish(self) -> set[str]:
        """Wait for all kernels; return the names of their entries in Triton's cache."""
        while self._running:
            self._wait_for_one()
        return self._names

    def _wait_for_one(self) -> None:
        pid, read_fd = self._running.popleft()
        with os.fdopen(read_fd) as pipe:
            said = pipe.read()
        _, status = os.waitpid(pid, 0)
        name, fault = json.loads(said) if said else ("", _ending(status))
        self._names |= {name} - {""}
        self.all_compiled &= bool(name)
        self.fault = self.fault or fault


def _form(argument: Any) -> tuple[Any, ...]:
    """Return what a kernel's text depends on of an argument, or more."""
    if isinstance(argument, torch.Tensor):
        return ("tensor", argument.dtype)
    if hasattr(argument, "block_shape"):  # a descriptor
        return ("descriptor", argument.base.dtype, *argument.block_shape)
    return (type(argument), argument)


def compile_without_gpu(capability: int, kernels: Kernels) -> None:
    """Let all launches of this process only compile their kernels, for GPUs of a compute
    capability such as 90."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import KernelInterface

    driver.set_active(_NoGpu(GPUTarget("cuda", capability, 32)))

    def launcher(kernel: Any, grid: Any) -> Any:
        return lambda *arguments, **options: kernels.compile(kernel, grid, arguments, options)

    KernelInterface.__getitem__ = launcher


def compile_launcher(kernel: Any) -> None:
    """Compile the C code with which Triton launches a kernel, which takes half a second for every
    new list of parameters; without a driver none is compiled here."""
    with contextlib.suppress(Exception):  # an interface of Triton's own, which changes
        from triton.backends.nvidia.driver import CudaLauncher

        CudaLauncher(kernel.src, kernel.metadata)


def compile_driver() -> None:
    """Compile the C code by which Triton loads kernels."""
    with contextlib.suppress(Exception):
        from triton.backends.nvidia.driver import CudaUtils

        CudaUtils()


def cache_entry(key: str) -> str:
    """Return the name of the folder in Triton's cache for a kernel's hash, in hexadecimal.

    Source:
        triton/runtime/cache.py (_base32).
    """
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


class _NoGpu:
    """The part of Triton's driver that compiling needs."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def note_of(cache: Path, source: str) -> Path:
    """Return the file that names the entries of Triton's cache that a source's kernels lie in."""
    return cache / f"{hashlib.blake2b(source.encode(), digest_size=16).hexdigest()}.entries"


def entries_of(cache: Path, source: str) -> list[Path]:
    """Return the folders of Triton's cache that a source needs: those of its kernels, and those of
    the libraries that launch them; none if it was not compiled ahead."""
    note = note_of(cache, source)
    if not note.exists():
        return []
    launchers = {at.parent for at in cache.glob("*/*.so")}
    kernels = [cache / name for name in note.read_text().split()]
    return [*sorted(launchers), *filter(Path.is_dir, kernels)]


def note_library(source: str, namespace: Mapping[str, Any]) -> None:
    """Note where the library lies that a source in C++ was compiled to, beside that."""
    library = namespace.get("_library")
    if isinstance(library, ctypes.CDLL):
        path = Path(library._name)
        library_note(path.parent, source).write_text(path.name)


def library_note(folder: Path, source: str) -> Path:
    """Return the file that names the library of a source."""
    return note_of(folder, source).with_suffix(".library")


def library_of(folder: Path, source: str) -> list[Path]:
    """Return the library that a source was compiled to; none if it was not compiled yet."""
    note = library_note(folder, source)
    return [folder / note.read_text()] if note.exists() else []


def compile_candidate(source: str, entry: str, question: Question, arguments: list[Any]) -> None:
    """Compile the kernels of a candidate; its forward gets ``arguments`` without memory.

    Raises:
        Exception: whatever its forward or the compiler raises.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = modules.imported(source, "candidate_ahead", Path(folder))
        for kind in [value for value in names.values() if hasattr(value, "_launches_for")]:
            kind._launches_for = lambda module, *inputs: _unguarded(names, module)
        if RUNNER in names:  # which would make a graph
            names[BEGINNER] = lambda *given: None
            names[RUNNER] = lambda work, steps, inputs, early=None: steps(*inputs)
        module = modules.without_memory(names[entry], question)
        with torch.device("meta"):
            module(*arguments)


def _unguarded(names: Mapping[str, Any], module: torch.nn.Module) -> Any:
    """Return a candidate's launches for a module without memory, which its guard would refuse; what
    the guard notes of the module's weights is noted."""
    tables = [one for one in names.values() if isinstance(one, names.get("Described", ()))]
    for table in tables:
        weights = table.weights_in(module)
        note = SimpleNamespace(weights=weights, work=names["Work"](weights))
        names["kept_by"](module).looks[table] = note
    return names["KernelLaunches"]


def _compile(
    source: str,
    entry: str,
    question: Question,
    arguments: list[Any],
    kernels: Kernels,
    said_fd: int,
) -> NoReturn:
    """Compile a candidate from this process, note what lies in the cache for it, say what came of
    it, and end."""
    signal.alarm(LIMIT_S)
    try:
        compile_candidate(source, entry, question, arguments)
        names = kernels.finish()
        if kernels.all_compiled:
            note_of(Path(os.environ["TRITON_CACHE_DIR"]), source).write_text(" ".join(names))
        said = [kernels.all_compiled, kernels.fault]
    except BaseException as error:
        said = [False, fault_of(error)]
    os.pwrite(said_fd, json.dumps(said).encode(), 0)
    os._exit(0)
