"""The search for a C++ compiler: its path, its version, and whether it really builds OpenMP
code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CXX_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC")
NAMES = ("g++", "clang++")
MIN_MAJOR = {"g++": 9, "clang++": 11}
"""Least versions with the vector extensions that emitted code uses: __builtin_convertvector (GCC 9
release notes), the ternary operator on vectors (Clang 10 release notes; 11 is the oldest release
tried)."""
PROBE = """
#include <omp.h>
typedef float vec __attribute__((vector_size(32)));
extern "C" int probe() { vec v = {}; v = v > 0 ? v : -v; return omp_get_max_threads() + (int)v[0]; }
"""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler on this machine."""

    path: str
    kind: str
    """'g++' or 'clang++'."""
    version: str
    """Version as the compiler prints it: '12.2.0'."""

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])


@cache
def find_compiler() -> Compiler | None:
    """Return the compiler named by ``CXX`` if that is set, otherwise the first of g++ and clang++
    on PATH."""
    chosen = os.environ.get("CXX")
    for name in (chosen,) if chosen else NAMES:
        path = shutil.which(name)
        if path is None:
            continue
        text = _run(path, "--version").stdout
        kind = "clang++" if "clang" in text else "g++"
        version = re.search(r"\b\d+\.\d+(\.\d+)?\b", re.sub(r"\(.*?\)", "", text))
        return Compiler(path, kind, version[0] if version else "0.0")
    return None


@cache
def compiler_missing() -> str | None:
    """Return what this machine lacks to build C++ candidates, and how to get it; None if
    nothing."""
    compiler = find_compiler()
    if compiler is None:
        chosen = os.environ.get("CXX")
        what = f"CXX={chosen} is not a program" if chosen else "no C++ compiler on PATH"
        return f"{what}; {_remedy('g++')}"
    if compiler.major < MIN_MAJOR[compiler.kind]:
        return (
            f"{compiler.kind} {compiler.version} is too old, {MIN_MAJOR[compiler.kind]} or newer "
            f"is needed; {_remedy(compiler.kind)}"
        )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.cpp")
        source.write_text(PROBE)
        built = _run(compiler.path, *CXX_FLAGS, str(source), "-o", str(Path(folder, "probe.so")))
    if built.returncode:
        first = (built.stderr.strip().splitlines() or ["no message"])[0]
        openmp = "libomp" if sys.platform == "darwin" else "libomp-dev"
        package = openmp if compiler.kind == "clang++" else "g++"
        return f"{compiler.path} does not build OpenMP code ({first}); {_remedy(package)}"
    return None


def search_path() -> str:
    """Return a PATH for a candidate's process: the compiler, the interpreter's tools, the
    system."""
    compiler = find_compiler()
    folders = [os.path.dirname(compiler.path)] if compiler else []
    folders += [os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin"]
    return os.pathsep.join(dict.fromkeys(folders))


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def _remedy(package: str) -> str:
    if sys.platform == "darwin":
        return "run: xcode-select --install, and brew install libomp"
    return f"run: apt-get install {package} (or your distribution's package)"
