"""Torch's default type and random numbers, changed for one thread.

A reference runs in the process of the user's program, whose other threads may use torch meanwhile.
So it draws from generators of its own, and its float64 twin gets float64 by default through a mode,
which torch keeps for each thread.

Not covered:
    A task's own text that sets the default type, or that seeds other generators than
    ``torch.manual_seed`` does: it changes them for the process while it runs.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_iter, tree_leaves, tree_map

from kernelwright.loaders.quiet_mode import QuietMode

WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}
DRAWING = (torch.rand, torch.randn, torch.normal)
"""Factories of random numbers: they must not be called twice."""


class _PerThread(threading.local):
    default_type: torch.dtype | None = None
    generators: _Generators | None = None


_this_thread = _PerThread()


def default_type() -> torch.dtype:
    """The default floating-point type of this thread."""
    return _this_thread.default_type or torch.get_default_dtype()


def made_in_float64() -> AbstractContextManager[Any]:
    """Context in which float64 is this thread's default floating-point type."""
    return nullcontext() if torch.get_default_dtype() is torch.float64 else _Float64ByDefault()


class _Float64ByDefault(TorchFunctionMode):
    """Repeats in float64 what torch has made in float32 for want of a type: constants, and numbers
    computed from integers alone."""

    def __enter__(self) -> Any:
        self._before, _this_thread.default_type = _this_thread.default_type, torch.float64
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        _this_thread.default_type = self._before
        super().__exit__(*error)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in DRAWING and not any(isinstance(x, torch.Tensor) for x in args):
            return func(*args, **{"dtype": torch.float64, **kwargs})
        found = func(*args, **kwargs)
        if type(found) is not torch.Tensor or found.dtype not in WIDER or kwargs.get("dtype"):
            return found
        has_tensors = False
        # Up to the first number with a type: a tensor that ``copy.deepcopy`` copies comes before
        # a dictionary of all that was copied until then.
        for x in tree_iter((args, kwargs)):
            if isinstance(x, torch.Tensor):
                has_tensors = True
                if x.is_floating_point() or x.is_complex():
                    return found
        wider = WIDER[found.dtype]
        for change in (_widened_integers, _widened_numbers) if has_tensors else (None,):
            again = _called_again(func, args, kwargs, change, wider)
            if again is not None:
                return again
        return found


def _called_again(
    func: Callable[..., Any], args: Any, kwargs: Any, change: Any, wider: torch.dtype
) -> torch.Tensor | None:
    """The result with changed arguments, or of a factory with a type; None if it is not wider."""
    try:
        if change is None:
            found = func(*args, **{**kwargs, "dtype": wider})
        else:
            found = func(*tree_map(change, args), **tree_map(change, kwargs))
    except (RuntimeError, TypeError, ValueError):
        return None
    return found if isinstance(found, torch.Tensor) and found.dtype is wider else None


def _widened_integers(x: Any) -> Any:
    return x.double() if isinstance(x, torch.Tensor) else x


def _widened_numbers(x: Any) -> Any:
    return torch.tensor(x, dtype=torch.float64) if type(x) is float else x


class _Generators:
    """One generator for each device, all seeded alike."""

    def __init__(self, seed: int) -> None:
        self._seed, self._by_device = seed, dict[torch.device, torch.Generator]()

    def seed(self, seed: int) -> torch.Generator:
        """Begin anew, as ``torch.manual_seed`` does."""
        self._seed, self._by_device = seed, {}
        return self.of(torch.device("cpu"))

    def of(self, device: torch.device) -> torch.Generator:
        if device not in self._by_device:
            self._by_device[device] = torch.Generator(device).manual_seed(self._seed)
        return self._by_device[device]


class seeded(QuietMode):
    """Context in which this thread draws the numbers that follow ``torch.manual_seed(seed)``."""

    def __init__(self, seed: int, on_draw: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._generators, self._on_draw = _Generators(seed), on_draw
        self._before: list[_Generators | None] = []

    def __enter__(self) -> Any:
        self._before.append(_this_thread.generators)
        _this_thread.generators = self._generators
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        _this_thread.generators = self._before.pop()
        super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags or kwargs.get("generator"):
            return func(*args, **kwargs)
        if not _drops_out(func, args, kwargs):
            return func(*args, **kwargs)
        device = _device_of(args, kwargs)
        if device.type not in ("cpu", "cuda"):
            return func(*args, **kwargs)
        self._on_draw()
        generator = self._generators.of(device)
        drawing = _with_generator(func)
        if drawing is not None:
            return drawing(*args, **{**kwargs, "generator": generator})
        with _lent(generator):
            return func(*args, **kwargs)


class SeededWhileItDraws:
    """Makes such contexts for one module, until that has been seen whole and drew nothing: they
    take 4 µs for each operator."""

    def __init__(self) -> None:
        self._is_needed, self._has_drawn = True, False

    def __call__(self, seed: int) -> AbstractContextManager[Any]:
        return seeded(seed, self._note) if self._is_needed else nullcontext()

    def settle(self) -> None:
        """The module has been seen whole."""
        self._is_needed = self._has_drawn

    def _note(self) -> None:
        self._has_drawn = True


def _device_of(args: Any, kwargs: Any) -> torch.device:
    for x in tree_leaves((args, kwargs)):
        if isinstance(x, torch.Tensor):
            return x.device
    device = torch.device(kwargs.get("device") or "cpu")
    is_any = device.type == "cuda" and device.index is None
    return torch.device("cuda", torch.cuda.current_device()) if is_any else device


def _drops_out(func: Any, args: Any, kwargs: Any) -> bool:
    """False for an attention or a recurrent layer without dropout, which draws nothing."""
    names = [a.name for a in func._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    return not any(name in names and not given.get(name) for name in ("dropout_p", "dropout"))


@functools.cache
def _with_generator(func: Any) -> Any:
    """The operator's overload that takes a generator; None if it has none."""
    if any(a.name == "generator" for a in func._schema.arguments):
        return func
    names = [a.name for a in func._schema.arguments]
    for overload in func.overloadpacket.overloads():
        other = getattr(func.overloadpacket, overload)
        theirs = [a.name for a in other._schema.arguments]
        if "generator" in theirs and [n for n in theirs if n != "generator"] == names:
            return other
    return None


@contextmanager
def _lent(generator: torch.Generator) -> Iterator[None]:
    """Let torch's own generator of the device be at this one's place for one operator, such as a
    fused dropout, that takes no other."""
    own = torch.default_generator
    if generator.device.type == "cuda":
        own = torch.cuda.default_generators[generator.device.index]
    before = own.get_state()
    own.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(own.get_state())
        own.set_state(before)


@functools.cache
def heed_manual_seed() -> None:
    """From now on ``torch.manual_seed`` inside ``seeded`` seeds that context's generators; in other
    threads, and outside, it does what it always does."""
    seed_all = torch.manual_seed

    @functools.wraps(seed_all)
    def manual_seed(seed: Any) -> torch.Generator:
        generators = _this_thread.generators
        return seed_all(seed) if generators is None else generators.seed(int(seed))

    torch.manual_seed = torch.random.manual_seed = manual_seed
