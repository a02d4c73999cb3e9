"""Converts generated C++ into kernels without torch's headers, built like our own candidates."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.compiler.codegen.cpp.loader import BUILD, IMPORTS
from kernelwright.proposers.inductor.wanted import GeneratedKernel, Made, NotStandalone

TORCH = (
    "at::",
    "c10::",
    "Vectorized",
    "randn_cpu",
    "rand_cpu",
    "WelfordHelper",
    "CascadeSum",
    "IndexValue",
)
"""Names that only torch's headers define."""
PRELUDE = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <omp.h>

template <typename T> inline T max_propagate_nan(T a, T b) { return a != a || a > b ? a : b; }
template <typename T> inline T min_propagate_nan(T a, T b) { return a != a || a < b ? a : b; }

template <typename T> struct Welford { T mean = 0; T m2 = 0; T weight = 0; int64_t index = 0; };

template <typename T> Welford<T> welford_combine(const Welford<T>& a, const Welford<T>& b) {
    if (a.weight == 0) return b;
    if (b.weight == 0) return a;
    const T weight = a.weight + b.weight, delta = b.mean - a.mean, part = b.weight / weight;
    return {a.mean + delta * part, a.m2 + b.m2 + delta * delta * a.weight * part, weight};
}

template <typename T> Welford<T> welford_combine(const Welford<T>& a, T value) {
    return welford_combine(a, Welford<T>{value, 0, 1});
}
"""


@dataclass(frozen=True)
class CppKernel:
    """A C++ function whose parameters are all pointers."""

    def launched(self, call: ast.Call) -> ast.expr:
        call.args = [ast.Call(ast.Attribute(arg, "data_ptr"), [], []) for arg in call.args]
        return call


def cpp_kernels(sources: Mapping[str, str]) -> Made:
    """Return the text of all kernels as one library, and the binding of each kernel.

    Raises:
        NotStandalone: a kernel needs torch's headers.
    """
    texts = [_function(name, source) for name, source in sources.items()]
    named = zip(sources, texts, strict=True)
    bound = [f"{name} = _bind({name!r}, {_pointers(text)})" for name, text in named]
    whole = PRELUDE + "\n" + "\n".join(texts)
    text = f'SOURCE = r"""\n{whole}"""\n\n\n{BUILD}' + "\n".join(bound) if texts else ""
    kernels: dict[str, GeneratedKernel] = {name: CppKernel() for name in sources}
    wanted = [line for line in IMPORTS if f"{line.split()[-1]}." in text]
    return Made(kernels, tuple(wanted), text)


def _function(name: str, source: str) -> str:
    lines = [
        line
        for line in source.strip().splitlines()
        if not line.startswith("#include") and "inductor_cpu_" not in line
    ]
    text = re.sub(r"\bvoid\s+kernel\(", f"void {name}(", "\n".join(lines), count=1) + "\n"
    for word in TORCH:
        if word in text:
            raise NotStandalone(word)
    return text


def _pointers(text: str) -> int:
    """Count the parameters of a function.

    Raises:
        NotStandalone: a parameter is not a pointer.
    """
    found = re.search(r"\bvoid\s+\w+\((.*?)\)", text, re.S)
    parameters = found.group(1).split(",") if found else []
    if not all("*" in parameter for parameter in parameters):
        raise NotStandalone("a number as an argument")
    return len(parameters)
