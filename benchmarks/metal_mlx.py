"""Whether MLX's own kernels are read here, and give numpy's numbers on this CPU.

    python benchmarks/metal_mlx.py MLX [--only softmax]

MLX is a checkout of ml-explore/mlx. Each kernel file is read whole; those named "nax" need Apple's
MetalPerformancePrimitives and are left out. Then instantiations of the files below are built and
run with our stand-in for ``torch.mps.compile_shader``, and compared with numpy in float64. Prints
a line for each file, with the instantiations that ran, and the counts.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch

from kernelwright.dialects.compile_shader import Library
from kernelwright.dialects.simt.machine import BuildError
from kernelwright.dialects.simt.metal import Program
from kernelwright.dialects.simt.msl import MslError

KERNELS = Path("mlx/backend/metal/kernels")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"\s*$', re.MULTILINE)
_CONSTANT = re.compile(r"\[\[\s*function_constant\(\w+\)\s*\]\]")
TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
         "int32": torch.int32, "uint8": torch.uint8}  # fmt: skip
NEAR = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
"""Largest errors, relative to the largest value beside 1."""


class Case(NamedTuple):
    """One instantiation, its call, and what it should give."""

    name: str
    call: Callable[[Any], torch.Tensor]
    wanted: Any


def flat(root: Path, path: Path, seen: set[Path]) -> str:
    """A file with what it includes of MLX in its place. Function constants are zero or false."""
    if path in seen:
        return ""
    seen.add(path)

    def included(match: re.Match[str]) -> str:
        inner = next((p for p in (root / match[1], path.parent / match[1]) if p.is_file()), None)
        return match[0] if inner is None else flat(root, inner, seen)

    text = path.read_text().replace("#pragma once", "")
    return _CONSTANT.sub(" = {}", _INCLUDE.sub(included, text))


def numbers(*shape: int, kind: str = "float32", low: float = -3, high: float = 3) -> torch.Tensor:
    if kind in ("int32", "uint8"):
        return torch.randint(int(low) if kind == "int32" else 0, 9, shape).to(TYPES[kind])
    return (torch.rand(*shape) * (high - low) + low).to(TYPES[kind])


def as_numpy(tensor: torch.Tensor) -> Any:
    return tensor.double().numpy()


def erf(x: Any) -> Any:
    return numpy.vectorize(math.erf)(x)


UNARY: dict[str, tuple[Any, float, float]] = {
    "Abs": (numpy.abs, -3, 3), "ArcCos": (numpy.arccos, -1, 1), "ArcCosh": (numpy.arccosh, 1, 5),
    "ArcSin": (numpy.arcsin, -1, 1), "ArcSinh": (numpy.arcsinh, -3, 3),
    "ArcTan": (numpy.arctan, -3, 3), "ArcTanh": (numpy.arctanh, -0.9, 0.9),
    "Ceil": (numpy.ceil, -3, 3), "Cos": (numpy.cos, -3, 3), "Cosh": (numpy.cosh, -3, 3),
    "Exp": (numpy.exp, -3, 3), "Expm1": (numpy.expm1, -3, 3), "Floor": (numpy.floor, -3, 3),
    "Log": (numpy.log, 0.1, 5), "Log2": (numpy.log2, 0.1, 5), "Log10": (numpy.log10, 0.1, 5),
    "Log1p": (numpy.log1p, -0.9, 5), "Negative": (numpy.negative, -3, 3),
    "Sigmoid": (lambda x: 1 / (1 + numpy.exp(-x)), -3, 3), "Erf": (erf, -3, 3),
    "Sign": (numpy.sign, -3, 3), "Sin": (numpy.sin, -3, 3), "Sinh": (numpy.sinh, -3, 3),
    "Square": (numpy.square, -3, 3), "Sqrt": (numpy.sqrt, 0, 5),
    "Rsqrt": (lambda x: 1 / numpy.sqrt(x), 0.1, 5), "Tan": (numpy.tan, -1, 1),
    "Tanh": (numpy.tanh, -3, 3), "Round": (numpy.round, -3, 3),
}  # fmt: skip
BINARY = {
    "Add": numpy.add, "Subtract": numpy.subtract, "Multiply": numpy.multiply,
    "Maximum": numpy.maximum, "Minimum": numpy.minimum, "Divide": numpy.divide,
    "LogAddExp": numpy.logaddexp, "ArcTan2": numpy.arctan2, "Less": numpy.less,
    "GreaterEqual": numpy.greater_equal, "Equal": numpy.equal,
}  # fmt: skip


SCANS = {"sum": numpy.cumsum, "prod": numpy.cumprod, "max": numpy.maximum.accumulate,
         "min": numpy.minimum.accumulate}  # fmt: skip


def pointwise(prefix: str, n_arguments: int, result: torch.dtype, *given: torch.Tensor) -> Any:
    """The call of a kernel over all elements; ``size`` is a uint."""
    n = given[-1].numel()

    def call(kernel: Any) -> torch.Tensor:
        out = torch.empty(n, dtype=result)
        kernel(*given, out, n, threads=n, arg_casts={n_arguments + 1: "int32"})
        return out

    return call


def unary() -> Iterator[Case]:
    for op, (function, low, high) in UNARY.items():
        for kind in ("float32", "float16", "bfloat16"):
            x = numbers(45, kind=kind, low=low, high=high)
            call = pointwise("v", 1, x.dtype, x)
            yield Case(f"v_{op}{kind}{kind}", call, function(as_numpy(x)))
    x = numbers(45, kind="int32")
    yield Case("v_BitwiseInvertint32int32", pointwise("v", 1, x.dtype, x), ~x.numpy())


def binary() -> Iterator[Case]:
    for op, function in BINARY.items():
        for kind in ("float32", "bfloat16"):
            x, y = numbers(45, kind=kind), numbers(45, kind=kind)
            is_test = op in ("Less", "GreaterEqual", "Equal")
            call = pointwise("vv", 2, torch.bool if is_test else x.dtype, x, y)
            yield Case(f"vv_{op}{kind}", call, function(as_numpy(x), as_numpy(y)))
    x, y = numbers(1, kind="int32"), numbers(45, kind="int32")
    yield Case("sv_Addint32", pointwise("sv", 2, x.dtype, x, y), x.numpy() + y.numpy())


def ternary() -> Iterator[Case]:
    for kind in ("float32", "int32"):
        a, b, c = torch.rand(45) < 0.5, numbers(45, kind=kind), numbers(45, kind=kind)
        wanted = numpy.where(a.numpy(), b.numpy(), c.numpy())
        yield Case(f"v_Select{kind}", pointwise("v", 3, b.dtype, a, b, c), wanted)


def copy() -> Iterator[Case]:
    for kind, to in (("float32", "float16"), ("float16", "bfloat16"), ("int32", "float32")):
        x = numbers(45, kind=kind)
        call = pointwise("v", 1, TYPES[to], x)
        yield Case(f"v_copy{kind}{to}", call, as_numpy(x))


def arange() -> Iterator[Case]:
    for kind, cast in (("float32", {}), ("float16", {0: "fp16", 1: "fp16"}),
                       ("int32", {0: "int32", 1: "int32"})):  # fmt: skip
        start, step = (2, 3) if kind == "int32" else (0.5, 0.25)

        def call(kernel: Any, kind: str = kind, cast: Any = cast) -> torch.Tensor:
            out = torch.empty(20, dtype=TYPES[kind])
            begin, by = (2, 3) if kind == "int32" else (0.5, 0.25)
            kernel(begin, by, out, threads=20, arg_casts=cast)
            return out

        yield Case(f"arange{kind}", call, start + step * numpy.arange(20))


def rows(n_reads: int, arguments: Callable[..., tuple[Any, ...]], casts: dict[int, str]) -> Any:
    """The call of a kernel with a threadgroup for each row; ``looped`` ones take 1,024
    threads, as MLX starts them: with fewer they read threadgroup memory that nobody wrote."""

    def made(x: torch.Tensor, is_looped: bool, shape: tuple[int, ...]) -> Any:
        n_threads = 1024 if is_looped else 32 * -(-x.shape[1] // (32 * n_reads))

        def call(kernel: Any) -> torch.Tensor:
            out = torch.empty(shape, dtype=x.dtype)
            kernel(*arguments(x, out), threads=x.shape[0] * n_threads, group_size=n_threads,
                   arg_casts=casts)  # fmt: skip
            return out

        return call

    return made


def softmax() -> Iterator[Case]:
    call = rows(4, lambda x, out: (x, out, x.shape[1]), {2: "int32"})
    for kind in ("float32", "float16", "bfloat16"):
        x = numbers(3, 70, kind=kind)
        e = numpy.exp(as_numpy(x))
        names = ["block_softmax_", "looped_softmax_"]
        names += [] if kind == "float32" else ["block_softmax_precise_"]
        for name in names:
            made = call(x, name.startswith("looped"), x.shape)
            yield Case(name + kind, made, e / e.sum(-1, keepdims=True))


def logsumexp() -> Iterator[Case]:
    call = rows(4, lambda x, out: (x, out, x.shape[1]), {2: "int32"})
    for kind in ("float32", "float16", "bfloat16"):
        x = numbers(3, 70, kind=kind)
        for name in ("block_logsumexp_", "looped_logsumexp_"):
            wanted = numpy.log(numpy.exp(as_numpy(x)).sum(-1))
            yield Case(name + kind, call(x, name.startswith("looped"), (3,)), wanted)


def rms_norm() -> Iterator[Case]:
    for kind in ("float32", "float16", "bfloat16"):
        x, w = numbers(3, 70, kind=kind), numbers(70, kind=kind)
        call = rows(4, lambda x, out, w=w: (x, w, out, 1e-5, 70, 1), {4: "int32", 5: "int32"})
        a = as_numpy(x)
        wanted = as_numpy(w) * a / numpy.sqrt((a * a).mean(-1, keepdims=True) + 1e-5)
        yield Case(f"rms{kind}", call(x, False, x.shape), wanted)
        yield Case(f"rms_looped{kind}", call(x, True, x.shape), wanted)


def layer_norm() -> Iterator[Case]:
    casts = {5: "int32", 6: "int32", 7: "int32"}
    for kind in ("float32", "float16", "bfloat16"):
        # of 70 numbers a row, threads without any write before their own array: it is MLX's fault
        x, w, b = numbers(3, 256, kind=kind), numbers(256, kind=kind), numbers(256, kind=kind)
        call = rows(8, lambda x, out, w=w, b=b: (x, w, b, out, 1e-5, 256, 1, 1), casts)
        a = as_numpy(x) - as_numpy(x).mean(-1, keepdims=True)
        scaled = a / numpy.sqrt((a * a).mean(-1, keepdims=True) + 1e-5)
        wanted = scaled * as_numpy(w) + as_numpy(b)
        yield Case(f"layer_norm{kind}", call(x, False, x.shape), wanted)
        yield Case(f"layer_norm_looped{kind}", call(x, True, x.shape), wanted)


def arg_reduce() -> Iterator[Case]:
    for kind in ("float32", "bfloat16", "int32"):
        x = torch.randperm(3 * 70).view(3, 70).to(TYPES[kind])
        for name, function in (("argmin", numpy.argmin), ("argmax", numpy.argmax)):

            def call(kernel: Any, x: torch.Tensor = x) -> torch.Tensor:
                out = torch.empty(3, dtype=torch.int32)
                shape = torch.tensor([3], dtype=torch.int32)
                kernel(x, out, shape, [70], [1], 1, 1, 70, threads=(32, 3), group_size=(32, 1))
                return out

            yield Case(f"{name}_{kind}", call, function(as_numpy(x), -1))


def scan() -> Iterator[Case]:
    for op, function in SCANS.items():
        for kind in ("float32", "int32"):
            # with fewer than 1,024 threads it reads memory that nobody wrote, and drops it
            low, high = (0.999, 1.001) if op == "prod" else (-1, 2)
            x = numbers(2, 4096, kind=kind, low=low, high=high)
            x = torch.ones_like(x) if op == "prod" and kind == "int32" else x

            def call(kernel: Any, x: torch.Tensor = x) -> torch.Tensor:
                out = torch.empty_like(x)
                kernel(x, out, x.shape[1], threads=(1024, 2, 1), group_size=(1024, 1, 1))
                return out

            wanted = function(as_numpy(x), 1)
            yield Case(f"contig_scan_inclusive_{op}_{kind}_{kind}", call, wanted)


def sort() -> Iterator[Case]:
    casts = dict.fromkeys(range(2, 7), "int32")
    for kind in ("float32", "int32", "float16"):
        x = torch.randperm(2 * 100).view(2, 100).to(TYPES[kind])

        def call(kernel: Any, x: torch.Tensor = x) -> torch.Tensor:
            out = torch.empty_like(x)
            kernel(x, out, 100, 1, 1, 100, 100, threads=(32, 2, 1), group_size=(32, 1, 1),
                   arg_casts=casts)  # fmt: skip
            return out

        yield Case(f"c_block_sort_{kind}_{kind}_bn32_tn4", call, numpy.sort(as_numpy(x), 1))


def searchsorted() -> Iterator[Case]:
    a, v = numbers(40).sort()[0], numbers(12)

    def call(kernel: Any) -> torch.Tensor:
        out = torch.empty(12, dtype=torch.int32)
        kernel(a, v, out, 40, 1, threads=(12, 1, 1), arg_casts={3: "int32"})
        return out

    for side in ("left", "right"):
        name = f"searchsorted_float32_{side}"
        yield Case(name, call, numpy.searchsorted(a.numpy(), v.numpy(), side))


CASES = {
    "unary": unary, "binary": binary, "ternary": ternary, "copy": copy, "arange": arange,
    "softmax": softmax, "logsumexp": logsumexp, "rms_norm": rms_norm, "layer_norm": layer_norm,
    "arg_reduce": arg_reduce, "scan": scan, "sort": sort, "searchsorted": searchsorted,
}  # fmt: skip


def outcome(library: Library, case: Case) -> str:
    """Empty if an instantiation agrees with numpy, else what is wrong."""
    try:
        found = case.call(getattr(library, case.name))
    except (RuntimeError, ValueError, TypeError) as error:
        return f"{case.name}: {' '.join(str(error).split())[:200]}"
    wanted = numpy.asarray(case.wanted, dtype=float)
    near = NEAR.get(found.dtype, 0.0) * max(1.0, float(numpy.abs(wanted).max()))
    error = float(numpy.abs(as_numpy(found) - wanted).max())
    return "" if error <= near else f"{case.name}: off by {error:.3g}"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("mlx", type=Path)
    words.add_argument("--only", default="", help="only files whose name holds this")
    asked = words.parse_args()
    torch.manual_seed(0)
    files = [p for p in sorted((asked.mlx / KERNELS).rglob("*.metal")) if "nax" not in p.name]
    n_files = n_read = n_agree = n_wrong = 0
    for path in files:
        if asked.only not in path.name:
            continue
        n_files += 1
        begin, cases = time.monotonic(), list(CASES.get(path.stem, lambda: iter(()))())
        try:
            text = flat(asked.mlx, path, set())
            library = Library(Program(text, [case.name for case in cases]))
        except (BuildError, MslError) as error:
            print(f"{path.name}: not read: {str(error).splitlines()[0][:150]}", flush=True)
            continue
        n_read += 1
        faults = [said for case in cases if (said := outcome(library, case))]
        n_agree += len(cases) - len(faults)
        n_wrong += len(faults)
        ran = f", {len(cases) - len(faults)} of {len(cases)} agree" if cases else ""
        print(f"{path.name}: read{ran}, {time.monotonic() - begin:.0f} s", flush=True)
        for said in faults:
            print(f"  {said}", flush=True)
        if cases:
            print(f"  ran: {' '.join(case.name for case in cases)}", flush=True)
    print(f"{n_read} of {n_files} files read, {n_agree} instantiations agree, {n_wrong} do not")


if __name__ == "__main__":
    main()
