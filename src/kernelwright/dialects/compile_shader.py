"""A stand-in for ``torch.mps.compile_shader`` on machines without an Apple GPU.

Tensors on the CPU play those on ``mps``. Arguments are bound as torch binds them: an int or bool
is an int64 and a float 4 bytes unless ``arg_casts`` says otherwise, no strides are passed,
``threads`` are totals. It is stricter in one point: a number must have the size of the parameter
that reads it. A kernel that reads or writes outside of its tensors, races, or reads lanes that
are not there raises a RuntimeError.

An error that a kernel reports (``TORCH_REPORT_ERROR``) is raised at once, and on a Mac when the
stream is synchronised.

Not covered: lists of tensors.

Source: torch 2.13, aten/src/ATen/native/mps/OperationUtils.mm, MetalShaderLibrary.h and
torch/csrc/mps/Module.cpp.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.autograd.profiler import record_function
from torch.overrides import TorchFunctionMode

from kernelwright.dialects.simt import metal
from kernelwright.dialects.simt.machine import BuildError
from kernelwright.dialects.simt.msl import MOST_BUFFERS, MslError

EMULATED = "KERNELWRIGHT_EMULATES_METAL"
"""The environment variable of processes in which the stand-in takes torch's place."""
DISPATCH = "metal::"
"""How the names begin under which dispatches appear in torch's profiler."""
_FUNCTION_AT, _MESSAGE_AT, _ERRORS_BYTES = 4 + 128, 4 + 256, 4 + 30 * 512
"""A count, and 30 messages: file, function, message, line. Source: c10/metal/error.h."""
CASTS = {"int32": "i", "int16": "h", "int8": "b", "uint8": "B", "fp16": "e", "bf16": ""}
"""Names that ``arg_casts`` takes, with their format in ``struct``."""


class Kernel:
    """One kernel of a library, called like torch's."""

    max_threads_per_threadgroup = metal.MOST_THREADS
    thread_execution_width = metal.WIDTH

    def __init__(self, program: metal.Program, name: str) -> None:
        self._program, self._name = program, name

    def __call__(
        self,
        *args: Any,
        threads: int | Sequence[int] | None = None,
        group_size: int | Sequence[int] | None = None,
        arg_casts: str | Mapping[int, str] | None = None,
        error_buf_idx: int | None = None,
    ) -> None:
        """Run the kernel.

        Raises:
            ValueError: extents that Metal refuses, or an unknown cast.
            TypeError: an argument that cannot be bound.
            RuntimeError: arguments do not fit the parameters, or the kernel does wrong.
        """
        total = _extents(_default_threads(args) if threads is None else threads, "threads")
        group = _group(total, group_size)
        if not all(total):
            return
        bound = _Bound(args, arg_casts)
        errors = None if error_buf_idx is None else bound.with_errors(error_buf_idx)
        with record_function(DISPATCH + self._name):
            try:
                self._program.dispatch(
                    self._name,
                    bound.arguments,
                    bound.memory,
                    threads=_three(total),
                    group=_three(group),
                )
            except (metal.Refused, metal.Fault) as error:
                raise RuntimeError(str(error)) from None
        if errors is not None and (n_errors := int.from_bytes(errors[:4], "little")):
            function, said = (_text(errors, at) for at in (_FUNCTION_AT, _MESSAGE_AT))
            raise RuntimeError(f"{function} reports {n_errors} errors, the first: {said}")


class Library:
    """The kernels of one text, as attributes under their host names."""

    def __init__(self, program: metal.Program) -> None:
        self._program = program

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._program.kernels:
            known = ", ".join(self._program.kernels) or "none"
            raise RuntimeError(f"the library has no kernel {name}; it has: {known}")
        return Kernel(self._program, name)

    def __dir__(self) -> list[str]:
        return list(self._program.kernels)


def compile_shader(source: str) -> Library:
    """Return the library of the kernels in ``source``.

    Raises:
        SyntaxError: it does not compile.
    """
    from torch.utils._cpp_embed_headers import _embed_headers

    lines = [line + "\n" for line in source.split("\n")]
    whole = _embed_headers(lines, [Path(torch.__file__).parent / "include"], set())
    try:
        return Library(metal.Program(whole))
    except (BuildError, MslError) as error:
        raise SyntaxError(f"failed to create a Metal library: {error}") from None


def install_where_asked() -> None:
    """Let the stand-in take torch's place if this process is to emulate Metal."""
    if EMULATED in os.environ:
        install()


def install() -> None:
    """Let the stand-in take torch's place in this process, for modules named ``candidate``."""
    torch.mps.compile_shader = compile_shader
    torch.mps.synchronize = lambda: None
    torch.backends.mps.is_available = lambda: True
    torch.library.Library.impl = functools.partialmethod(_register, torch.library.Library.impl)
    _MpsIsCpu().__enter__()


_SEEN = {
    torch.Tensor.device.__get__: torch.device("mps"),
    torch.Tensor.is_mps.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
}
"""What a candidate's own text sees of a tensor's device."""


class _MpsIsCpu(TorchFunctionMode):
    """Tensors that are asked for on ``mps`` are made on the CPU, and play the others to a
    candidate's own text."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in _SEEN and sys._getframe(1).f_globals.get("__name__") == "candidate":
            return _SEEN[func]
        named = {name: _as_cpu(value) for name, value in (kwargs or {}).items()}
        return func(*map(_as_cpu, args), **named)


def _register(
    library: Any, own: Any, name: Any, function: Any, key: str = "", **options: Any
) -> None:
    """Register an operator of ``mps`` for the CPU, whose tensors play those."""
    own(library, name, function, "CPU" if key == "MPS" else key, **options)


def _as_cpu(value: Any) -> Any:
    is_name, is_device = isinstance(value, str), isinstance(value, torch.device)
    is_mps = (is_name and value == "mps") or (is_device and value.type == "mps")
    return torch.device("cpu") if is_mps else value


class _Bound:
    """The arguments of a call by buffer index, and the memory in which they lie."""

    def __init__(self, args: Sequence[Any], arg_casts: str | Mapping[int, str] | None) -> None:
        if len(args) > MOST_BUFFERS:
            raise ValueError(f"a kernel takes {MOST_BUFFERS} arguments at most, not {len(args)}")
        self.arguments: list[metal.Argument] = []
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        spans = _joined([_span(tensor) for tensor in tensors])
        self.memory = [metal.Memory(low, high - low) for low, high in spans]
        self._kept: list[Any] = []
        for index, value in enumerate(args):
            cast = arg_casts if isinstance(arg_casts, str) else (arg_casts or {}).get(index)
            if isinstance(value, torch.Tensor):
                low, high = _span(value)
                region = next(i for i, (a, b) in enumerate(spans) if a <= low and high <= b)
                offset = low - spans[region][0]
                self.arguments.append(metal.Argument(region, offset, high - low))
            else:
                self._put(_bytes(value, cast))

    def with_errors(self, index: int) -> Any:
        """Bind memory for the errors that a kernel reports, after all others; return it."""
        if index != len(self.arguments):
            raise ValueError(
                f"error_buf_idx is {index}, and the arguments are {len(self.arguments)}"
            )
        return self._put(bytes(_ERRORS_BYTES), is_number=False)

    def _put(self, data: bytes, *, is_number: bool = True) -> Any:
        held = ctypes.create_string_buffer(data, len(data))
        self._kept.append(held)
        self.arguments.append(metal.Argument(len(self.memory), 0, len(data), is_number))
        self.memory.append(metal.Memory(ctypes.addressof(held), len(data)))
        return held


def _text(errors: Any, at: int) -> str:
    """Return the text at a place of the memory of errors."""
    return bytes(errors)[at:].partition(b"\0")[0].decode(errors="replace")


def _bytes(value: Any, cast: str | None) -> bytes:
    """Return the bytes that torch binds for a number, or a list of numbers."""
    if isinstance(value, (list, tuple)):
        is_float = any(isinstance(item, float) for item in value)
        if not value or not all(isinstance(item, (bool, int, float)) for item in value):
            raise TypeError("a list among a kernel's arguments must hold numbers")
        return b"".join(_bytes(float(item) if is_float else item, cast) for item in value)
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"a kernel takes tensors and numbers, not {type(value).__name__}")
    if cast is None:
        return struct.pack("f", value) if isinstance(value, float) else struct.pack("q", value)
    if cast not in CASTS:
        raise ValueError(f'arg_casts has no "{cast}"; it has {", ".join(CASTS)}')
    if cast == "bf16":
        return struct.pack("h", torch.tensor(value, dtype=torch.bfloat16).view(torch.int16).item())
    return struct.pack(CASTS[cast], float(value) if cast == "fp16" else int(value))


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """Return the addresses of a tensor's first byte and of the end of its last."""
    if tensor.layout is not torch.strided or tensor.dtype == torch.float64:
        kind = tensor.dtype if tensor.layout is torch.strided else tensor.layout
        raise TypeError(f"no tensor on mps is {kind}")
    low = tensor.data_ptr()
    if tensor.numel() == 0:
        return low, low
    reach = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return low, low + (reach + 1) * tensor.element_size()


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans with those that overlap joined: views of one tensor are one memory."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low < found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        elif (low, high) not in found:
            found.append((low, high))
    return found


def _default_threads(args: Sequence[Any]) -> int:
    for value in args:
        if isinstance(value, torch.Tensor):
            return value.numel()
    raise ValueError("threads must be given where no argument is a tensor")


def _extents(given: int | Sequence[int], name: str) -> tuple[int, ...]:
    found = (given,) if isinstance(given, int) else tuple(given)
    if not 1 <= len(found) <= 3 or any(n < 0 for n in found):
        raise ValueError(f"{name} must be one to three extents, not {given}")
    return found


def _group(total: Sequence[int], given: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the extents of a threadgroup.

    Raises:
        ValueError: Metal refuses them.
    """
    most = metal.MOST_THREADS
    if given is None:
        return (min(total[0], most),) if len(total) == 1 else (most, *[1] * (len(total) - 1))
    group = _extents(given, "group_size")
    if len(group) != len(total):
        raise ValueError(f"threads has {len(total)} extents and group_size {len(group)}")
    n_threads = group[0] * _three(group)[1] * _three(group)[2]
    if not 0 < n_threads <= most:
        raise ValueError(f"group_size has {n_threads} threads, and the most are {most}")
    return group


def _three(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z
