"""Reference: a task's text, executed, with its module and inputs built on demand."""

from __future__ import annotations

import contextlib
import linecache
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import DeviceError, KernelwrightError, TaskError
from kernelwright.core.syntax import lines
from kernelwright.core.task import Task, Workload
from kernelwright.loaders.made_in import made_in
from kernelwright.loaders.neighbours import own_neighbours
from kernelwright.loaders.plain import flatten, map_plain, require_plain
from kernelwright.loaders.seeding import seed_torch

if TYPE_CHECKING:
    import torch

CHECK_SEED = 0
DEFAULT_DTYPE = "__default_dtype__"
"""In a task's namespace: the type that its text asked torch to make tensors in."""
MISFIT = ("the inputs do not fit the forward", "make get_inputs (or --input) fit it")
NO_GRADIENTS = (
    "the forward takes gradients, and kernels are judged without",
    "take them inside torch.enable_grad(), with regard to x.detach().requires_grad_()",
)
_NO_MEMORY = ("not enough memory", "can't allocate memory", "CUDA error: out of memory")
"""What c10/core/impl/alloc_cpu.cpp says, and CUDA where it is not torch that allocates."""


@dataclass(frozen=True)
class Reference:
    """An executed task. Its methods leave the process's random state as they found it."""

    task: Task
    namespace: dict[str, Any]

    @property
    def has_fixed_weights(self) -> bool:
        """Whether the weights came with the task, so that no seed changes them."""
        return bool(self.namespace.get("HAS_FIXED_WEIGHTS", False))

    @contextlib.contextmanager
    def in_its_type(self) -> Iterator[None]:
        """While it is entered, tensors are made in the type that the task's text asked torch for,
        where nobody asks for another."""
        import torch

        asked = torch.get_default_dtype()
        own = self.namespace.get(DEFAULT_DTYPE, asked)
        with made_in(own if asked is torch.float32 else asked):
            yield

    def init_inputs(self, seed: int) -> list[Any]:
        """The constructor's arguments.

        Raises:
            TaskError: ``get_init_inputs`` fails or does not return a list.
        """
        return self._call("get_init_inputs", seed, "cpu")

    def build(self, seed: int) -> torch.nn.Module:
        """The reference, weights drawn after ``torch.manual_seed(seed)``, on the CPU.

        The mode is left as constructed: a module in train mode is judged in train mode.

        Raises:
            TaskError: the constructor does not take the task's arguments.
        """
        arguments = self.init_inputs(seed)
        advice = "make get_init_inputs (or --init) fit the constructor"
        what = f"{self.task.entry}(*get_init_inputs()) fails"
        with self._running(what, advice, seed=seed, context=f"with {arguments!r:.200}"):
            module = self.namespace[self.task.entry](*arguments)
        self._fill(module, seed)
        return module

    def _fill(self, module: Any, seed: int) -> None:
        """Draw weights whose shapes the first inputs decide, as those of ``nn.LazyLinear``."""
        import torch
        from torch.nn.parameter import is_lazy

        if isinstance(module, torch.nn.Module) and any(map(is_lazy, module.parameters())):
            inputs = self.inputs(seed)
            with self._running(*MISFIT, seed=seed), torch.no_grad():
                module(*inputs)

    def inputs(self, seed: int, device: str = "cpu") -> list[Any]:
        """The arguments of one forward, tensors on ``device``.

        Raises:
            TaskError: ``get_inputs`` fails, or returns nothing.
            DeviceError: they do not fit in memory.
        """
        values = self._call("get_inputs", seed, device)
        if not values:
            raise TaskError(
                "get_inputs returns nothing",
                seen=repr(values),
                do="return a list of the forward's arguments, such as [torch.randn(64, 1024)]",
            )
        return [_on_device(value, device) for value in values]

    def blank_inputs(self) -> list[Any]:
        """``inputs`` on the CPU with any values: memory that nobody reads costs nothing.

        Raises:
            TaskError, DeviceError: as ``inputs``.
        """
        try:
            return [_blank(value) for value in self._call("get_inputs", CHECK_SEED, "meta")]
        except (TaskError, NotImplementedError):  # it looks at what it draws
            return self.inputs(CHECK_SEED)

    def other_inputs(self, seed: int, device: str = "cpu") -> list[list[Any]]:
        """Further sets of arguments that the task declares legal; none where it says nothing.

        Raises:
            TaskError: ``get_other_inputs`` fails, or does not return a list of lists.
        """
        if "get_other_inputs" not in self.namespace:
            return []
        sets = self._call("get_other_inputs", seed, device)
        for values in sets:
            if not isinstance(values, (list, tuple)) or not values:
                raise TaskError(
                    "get_other_inputs does not return lists of arguments",
                    seen=type(values).__name__,
                    do="return a list with one list, such as get_inputs returns, per set",
                )
        return [[_on_device(value, device) for value in values] for values in sets]

    def _call(self, function: str, seed: int, device: str) -> list[Any]:
        """What a function of the task's draws, on the device if it can: one that uses a generator
        of its own, or NumPy, draws on the CPU wherever it is."""
        if device != "cpu":
            with contextlib.suppress(TaskError):
                return self._called(function, seed, device)
        return self._called(function, seed, "cpu")

    def _called(self, function: str, seed: int, device: str) -> list[Any]:
        import torch

        what, advice = f"{function}() fails", f"mend {function} in the task"
        with self._running(what, advice, seed=seed, device=device), torch.device(device):
            values = self.namespace[function]()
        if not isinstance(values, (list, tuple)):
            raise TaskError(
                f"{function} does not return a list",
                seen=type(values).__name__,
                do=f"let {function} return a list, with one element per argument",
            )
        require_plain(list(values), function, self.namespace["__name__"])
        return list(values)

    @contextlib.contextmanager
    def _running(
        self, what: str, do: str, *, seed: int, device: str = "cpu", context: str = ""
    ) -> Iterator[None]:
        """Run the task's code seeded, with ``import_roots`` importable, failures as TaskError."""
        import torch

        cuda = [torch.device(device)] if device.startswith("cuda") else []
        with (
            torch.random.fork_rng(devices=cuda),
            task_code(self.task, what, do, context=context),
            self.in_its_type(),
        ):
            seed_torch(seed)
            yield


def open_reference(task: Task, name: str | None = None) -> Reference:
    """The task executed in this process; ``name`` is as in ``execute``.

    Raises:
        TaskError: the text does not run, or lacks the class or one of the two functions.
    """
    namespace = execute(task, name)
    _require_parts(task, namespace)
    return Reference(task, namespace)


def execute(task: Task, name: str | None = None) -> dict[str, Any]:
    """The names that the task's text defines, executed as a module of its own.

    It stands in ``sys.modules`` under ``name``; without one, in place of the task's last execution.

    Its lines are registered with ``linecache``, so that tracebacks, ``inspect.getsource`` and
    torch's compilers see them.

    Raises:
        TaskError: the text does not run.
    """
    import torch

    label = task.digest.removeprefix("b2:")[:12]
    filename = f"<task {task.name} {label}>"
    linecache.cache[filename] = (len(task.source), None, lines(task.source), filename)
    module = types.ModuleType(name or f"kernelwright_task_{label}")
    # dataclasses, pickle and typing look a class's module up in sys.modules.
    sys.modules[module.__name__] = module
    module.__dict__["PAYLOAD"] = task.payload
    broken = f"{task.name} does not import", "run the file with python and mend it"
    with (
        task_code(task, *broken),
        own_neighbours(task.source, task.import_roots),
        made_in(torch.get_default_dtype()),  # or it would be every later task's
    ):
        # With its assertions, as in the children, also where this Python leaves them out (-O).
        exec(compile(task.source, filename, "exec", optimize=0), module.__dict__)
        module.__dict__[DEFAULT_DTYPE] = torch.get_default_dtype()
    return module.__dict__


def _require_parts(task: Task, namespace: dict[str, Any]) -> None:
    from torch import nn

    model = namespace.get(task.entry)
    if model is None:
        raise TaskError(
            f"{task.name} has no {task.entry}",
            seen=", ".join(n for n, v in namespace.items() if isinstance(v, type)) or "no class",
            do=f"name the nn.Module {task.entry}, or give the task as file.py:Class with --input",
        )
    if not (isinstance(model, type) and issubclass(model, nn.Module)):
        raise TaskError(
            f"{task.entry} is not an nn.Module",
            seen=repr(model),
            do=f"let {task.entry} be a subclass of torch.nn.Module",
        )
    for function in ("get_inputs", "get_init_inputs"):
        if not callable(namespace.get(function)):
            raise TaskError(
                f"{task.name} has no {function}",
                seen=f"a file that defines {task.entry} only",
                do=f"define {function}() returning a list, or give the task as file.py:Class "
                "with --input",
            )


def check(task: Task, device: str = "cpu") -> Workload:
    """Build the module and its inputs, run one forward on ``device``; the workload they make.

    Raises:
        TaskError: the inputs do not fit the module, or its result cannot be compared.
        DeviceError: they do not fit in the device's memory.
    """
    import torch

    reference = open_reference(task)
    module = reference.build(CHECK_SEED).to(device)
    inputs = reference.inputs(CHECK_SEED, device)
    shapes = tuple(_shape(value) for value in inputs)
    seen = ", ".join(f"{kind}{list(shape)}" for kind, shape in shapes)
    context = f"with {seen}"
    with task_code(task, *MISFIT, context=context), torch.no_grad(), reference.in_its_type():
        output = module(*inputs)
    if not flatten(output):
        raise TaskError(
            "the forward returns nothing",
            seen=repr(output),
            do="let forward return a dense tensor, or lists and tuples of them",
        )
    return Workload(task.digest, shapes)


def _blank(value: Any) -> Any:
    import torch

    return map_plain(lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype), value)


def _on_device(value: Any, device: str) -> Any:
    """Its tensors there, and what torch puts off done: conjugates and negatives."""
    return map_plain(lambda tensor: tensor.to(device).resolve_conj().resolve_neg(), value)


def _shape(value: Any) -> tuple[str, tuple[int, ...]]:
    import torch

    if isinstance(value, torch.Tensor):
        return str(value.dtype).removeprefix("torch."), tuple(value.shape)
    return type(value).__name__, ()


@contextlib.contextmanager
def task_code(task: Task, what: str, do: str, *, context: str = "") -> Iterator[None]:
    """Around every run of a task's own code: whatever it raises becomes one error. What already is
    one of ours, about its results mostly, stays as it is.

    Its prints go to stderr: stdout belongs to the caller's ``--json``.
    """
    import torch

    path = list(sys.path)
    sys.path[:0] = task.import_roots
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except KernelwrightError:
        raise
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise _no_memory(task, error) from error
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        said = _text(error)
        if any(text in said for text in _NO_MEMORY):
            raise _no_memory(task, error) from error
        package = str(getattr(error, "name", None)).partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package not in sys.modules:
            do = f"make {package} importable (pip install {package}, or run from its folder)"
        if "does not require grad" in said:
            what, do = NO_GRADIENTS
        seen = " ".join(filter(None, (_describe(error), context)))
        raise TaskError(what, seen=seen, do=do) from error
    finally:
        sys.path[:] = path


def _no_memory(task: Task, error: BaseException) -> DeviceError:
    return DeviceError(
        f"{task.name} does not fit in memory",
        seen=f"{type(error).__name__}: {next(iter(_text(error).splitlines()), '')}"[:300],
        do="use smaller inputs, or a device with more memory",
    )


def _text(error: BaseException) -> str:
    """What an error says, where that can be asked for: its class may be the task's own."""
    try:
        return str(error)
    except Exception:
        return "(no text)"


def _describe(error: BaseException) -> str:
    """The error on one line, with the line of the task that raised it."""
    text = " ".join(f"{type(error).__name__}: {_text(error)}".split())[:400]
    if isinstance(error, SyntaxError):
        return f"{text}: {error.text.strip()}" if error.text else text
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<task "):
            line = trace.tb_lineno
        trace = trace.tb_next
    return text if line is None else f"{text} (line {line})"
