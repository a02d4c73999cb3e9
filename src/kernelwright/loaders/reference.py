"""Reference: the executed text of a task, which builds its module and inputs on demand."""

from __future__ import annotations

import contextlib
import linecache
import secrets
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import DeviceError, KernelwrightError, TaskError
from kernelwright.core.syntax import lines
from kernelwright.core.task import Task, Workload
from kernelwright.loaders.neighbours import own_neighbours
from kernelwright.loaders.pickling import EXECUTED
from kernelwright.loaders.plain import flatten, map_plain, nothing_returned, require_plain

if TYPE_CHECKING:
    import torch

LISTED, HELD_OUT = FURTHER = ("get_other_inputs", "get_holdout_inputs")
"""The functions of a task that return further sets of arguments. Kernels are tuned for those of the
first; those of the second show how kernels do on sizes that nobody has tuned for."""
CHECK_SEED = 0
DEFAULT_DTYPE = "__default_dtype__"
"""Name in a task's namespace of the default dtype that its text has set in torch."""
MISFIT = ("the inputs do not fit the forward", "make get_inputs (or --input) fit it")
NO_GRADIENTS = (
    "the forward computes gradients, but kernels are judged without gradients",
    "compute them inside torch.enable_grad(), with respect to x.detach().requires_grad_()",
)
_NO_MEMORY = ("not enough memory", "can't allocate memory", "CUDA error: out of memory")
"""Messages of c10/core/impl/alloc_cpu.cpp, and of CUDA if torch is not the allocator."""


@dataclass(frozen=True)
class Reference:
    """An executed task. Its methods do not change the process's random state."""

    task: Task
    namespace: dict[str, Any]

    @property
    def has_fixed_weights(self) -> bool:
        """Whether the weights are part of the task, so that no seed changes them."""
        return bool(self.namespace.get("HAS_FIXED_WEIGHTS", False))

    @contextlib.contextmanager
    def in_its_type(self) -> Iterator[None]:
        """Context with the default dtype that the task's text has set in torch.

        A default dtype other than float32 that is set outside takes precedence. Nothing is changed
        for a task whose text sets none.
        """
        import torch

        from kernelwright.loaders.thread_state import default_type

        before, asked = torch.get_default_dtype(), default_type()
        own = self.namespace.get(DEFAULT_DTYPE, asked)
        if asked is not torch.float32 or own is before:
            yield
            return
        with _restored_default():
            torch.set_default_dtype(own)
            yield

    def init_inputs(self, seed: int) -> list[Any]:
        """Return the constructor's arguments.

        Raises:
            TaskError: ``get_init_inputs`` fails or does not return a list.
        """
        return self._call("get_init_inputs", seed, "cpu")

    def build(self, seed: int) -> torch.nn.Module:
        """Build the module on the CPU, with weights drawn after ``torch.manual_seed(seed)``.

        The module is in the mode that the task asks for, else in the one of its construction.

        Raises:
            TaskError: the constructor does not accept the task's arguments.
        """
        arguments = self.init_inputs(seed)
        advice = "make get_init_inputs (or --init) fit the constructor"
        what = f"{self.task.entry}(*get_init_inputs()) fails"
        with self._running(what, advice, seed=seed, context=f"with {arguments!r:.200}"):
            module = self.namespace[self.task.entry](*arguments)
            self.task.set_mode(module)
        self._fill(module, seed)
        return module

    def _fill(self, module: Any, seed: int) -> None:
        """Draw weights whose shapes depend on the first inputs, as in ``nn.LazyLinear``."""
        import torch
        from torch.nn.parameter import is_lazy

        if isinstance(module, torch.nn.Module) and any(map(is_lazy, module.parameters())):
            inputs = self.inputs(seed)
            with self._running(*MISFIT, seed=seed), torch.no_grad():
                module(*inputs)

    def inputs(self, seed: int, device: str = "cpu") -> list[Any]:
        """Return the arguments of one forward, with tensors on ``device``.

        Raises:
            TaskError: ``get_inputs`` fails or returns nothing.
            DeviceError: the inputs do not fit in memory.
        """
        values = self._call("get_inputs", seed, device)
        if not values:
            raise TaskError(
                "get_inputs returns nothing",
                seen=repr(values),
                do="return a list of the forward's arguments, such as [torch.randn(64, 1024)]",
            )
        return [_on_device(value, device) for value in values]

    def inputs_with_gradients(self) -> list[int]:
        """Return the positions of the inputs that ``get_inputs`` makes to require gradients.

        Raises:
            TaskError: as ``inputs``.
        """
        try:
            values = self._call("get_inputs", CHECK_SEED, "meta")
        except NotImplementedError:  # get_inputs reads the values that it draws
            values = self._call("get_inputs", CHECK_SEED, "cpu")
        return [n for n, value in enumerate(values) if getattr(value, "requires_grad", False)]

    def blank_inputs(self) -> list[Any]:
        """Return ``inputs`` on the CPU with arbitrary values; untouched memory costs nothing.

        Raises:
            TaskError, DeviceError: as ``inputs``.
        """
        try:
            return [_blank(value) for value in self._call("get_inputs", CHECK_SEED, "meta")]
        except (TaskError, NotImplementedError):  # get_inputs reads the values that it draws
            return self.inputs(CHECK_SEED)

    def other_inputs(self, seed: int, device: str = "cpu") -> list[list[Any]]:
        """Return the further sets of arguments that the task declares legal, if any: those for
        which kernels are tuned, and then those that are held out.

        Raises:
            TaskError: ``get_other_inputs`` or ``get_holdout_inputs`` fails, or does not return a
                list of lists.
        """
        sets = [values for each in FURTHER for values in self._sets(each, seed, device)]
        return [[_on_device(value, device) for value in values] for values in sets]

    def blank_sets(self, function: str) -> list[list[Any]]:
        """Return the sets of one of the functions ``FURTHER`` as ``blank_inputs`` returns inputs.

        Raises:
            TaskError: as ``other_inputs``.
        """
        try:
            sets = self._sets(function, CHECK_SEED, "meta")
        except (TaskError, NotImplementedError):
            sets = self._sets(function, CHECK_SEED, "cpu")
        return [[_blank(value) for value in values] for values in sets]

    def _sets(self, function: str, seed: int, device: str) -> list[list[Any]]:
        if function not in self.namespace:
            return []
        sets = self._call(function, seed, device)
        for values in sets:
            if not isinstance(values, (list, tuple)) or not values:
                raise TaskError(
                    f"{function} does not return lists of arguments",
                    seen=type(values).__name__,
                    do="return a list with one list, such as get_inputs returns, per set",
                )
        return [[*values] for values in sets]

    def _call(self, function: str, seed: int, device: str) -> list[Any]:
        """Call one of the task's functions, on the device if possible, else on the CPU.

        A function that uses its own generator or NumPy can only draw on the CPU.
        """
        if device != "cpu":
            with contextlib.suppress(TaskError):
                return self._called(function, seed, device)
        return self._called(function, seed, "cpu")

    def _called(self, function: str, seed: int, device: str) -> list[Any]:
        import torch

        what, advice = f"{function}() fails", f"correct {function} in the task"
        with self._running(what, advice, seed=seed), torch.device(device):
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
    def _running(self, what: str, do: str, *, seed: int, context: str = "") -> Iterator[None]:
        """Context for running the task's code with a seed; failures become TaskErrors."""
        from kernelwright.loaders.thread_state import seeded

        with (
            seeded(seed),
            task_code(self.task, what, do, context=context),
            self.in_its_type(),
        ):
            yield


def open_reference(task: Task, name: str | None = None) -> Reference:
    """Execute the task in this process; ``name`` is as in ``execute``.

    Raises:
        TaskError: the text does not run, or lacks the class or one of the two functions.
    """
    namespace = execute(task, name)
    _require_parts(task, namespace)
    return Reference(task, namespace)


def execute(task: Task, name: str | None = None) -> dict[str, Any]:
    """Execute the task's text as a module of its own and return the names that it defines.

    The module is entered in ``sys.modules`` under ``name``, or by default in place of the task's
    last execution. The text is registered with ``linecache``, so that tracebacks,
    ``inspect.getsource`` and torch's compilers find its lines.

    Raises:
        TaskError: the text does not run.
    """
    import torch

    from kernelwright.loaders.thread_state import heed_manual_seed, seeded

    if "manual_seed" in task.source or task.import_roots:
        heed_manual_seed()
    label = task.digest.removeprefix("b2:")[:12]
    filename = f"<task {task.name} {label}>"
    linecache.cache[filename] = (len(task.source), None, lines(task.source), filename)
    module = types.ModuleType(name or f"{EXECUTED}{label}")
    # dataclasses, pickle and typing look a class's module up in sys.modules.
    sys.modules[module.__name__] = module
    module.__dict__["PAYLOAD"] = task.payload
    broken = f"{task.name} does not import", "run the file with python and correct it"
    with (
        task_code(task, *broken),
        own_neighbours(task.source, task.import_roots),
        seeded(secrets.randbits(63)),
        _restored_default(),
    ):
        # optimize=0 keeps assertions, as in the judge's children, even under python -O.
        exec(compile(task.source, filename, "exec", optimize=0), module.__dict__)
        module.__dict__[DEFAULT_DTYPE] = torch.get_default_dtype()
    return module.__dict__


@contextlib.contextmanager
def _restored_default() -> Iterator[None]:
    """Context that restores torch's default dtype: a task may set it for itself only."""
    import torch

    before = torch.get_default_dtype()
    try:
        yield
    finally:
        if torch.get_default_dtype() is not before:
            torch.set_default_dtype(before)


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
    """Build the module and its inputs, run one forward on ``device``, and return the workload.

    Raises:
        TaskError: the inputs do not fit the module, or its result cannot be compared.
        DeviceError: module and inputs do not fit in the device's memory.
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
        raise nothing_returned(output)
    return Workload(task.digest, shapes)


def _blank(value: Any) -> Any:
    import torch

    return map_plain(lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype), value)


def _on_device(value: Any, device: str) -> Any:
    """Move tensors to the device, detached, and materialise lazy conjugates and negations."""
    return map_plain(lambda tensor: tensor.detach().to(device).resolve_conj().resolve_neg(), value)


def _shape(value: Any) -> tuple[str, tuple[int, ...]]:
    import torch

    if isinstance(value, torch.Tensor):
        return str(value.dtype).removeprefix("torch."), tuple(value.shape)
    return type(value).__name__, ()


@contextlib.contextmanager
def task_code(task: Task, what: str, do: str, *, context: str = "") -> Iterator[None]:
    """Context for running a task's own code, with the task's ``import_roots`` importable.

    Whatever the code raises becomes a TaskError (``what``, ``do``), or a DeviceError for lack of
    memory. Errors of kernelwright itself pass unchanged. Only roots that ``sys.path`` lacks are put
    into it, and the same ones are taken out, since the user's other threads may change it too.
    """
    import torch

    lacking = [root for root in task.import_roots if root not in sys.path]
    sys.path[:0] = lacking
    try:
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
        for root in lacking:
            with contextlib.suppress(ValueError):  # the task's code may have taken it out
                sys.path.remove(root)


def _no_memory(task: Task, error: BaseException) -> DeviceError:
    return DeviceError(
        f"{task.name} does not fit in memory",
        seen=f"{type(error).__name__}: {next(iter(_text(error).splitlines()), '')}"[:300],
        do="use smaller inputs, or a device with more memory",
    )


def _text(error: BaseException) -> str:
    """Return an error's text; its class may be the task's own, and its ``__str__`` may fail."""
    try:
        return str(error)
    except Exception:
        return "(no text)"


def _describe(error: BaseException) -> str:
    """Describe the error on one line, with the line of the task that raised it."""
    text = " ".join(f"{type(error).__name__}: {_text(error)}".split())[:400]
    if isinstance(error, SyntaxError):
        return f"{text}: {error.text.strip()}" if error.text else text
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<task "):
            line = trace.tb_lineno
        trace = trace.tb_next
    return text if line is None else f"{text} (line {line})"
