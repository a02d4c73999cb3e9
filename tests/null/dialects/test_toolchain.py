"""Messages about a compiler that is absent, old or broken."""

from pathlib import Path

import pytest

from kernelwright.core.device import Device
from kernelwright.dialects import toolchain
from kernelwright.dialects.cpp import CppDialect


@pytest.fixture(autouse=True)
def fresh():
    """The answers are cached for the life of a process; here the machine changes under them."""
    toolchain.find_compiler.cache_clear()
    toolchain.compiler_missing.cache_clear()
    yield
    toolchain.find_compiler.cache_clear()
    toolchain.compiler_missing.cache_clear()


def compiler(folder: Path, text: str, exit_code: int = 0) -> str:
    path = folder / "c++"
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{text}"; exit 0; fi\n'
        f"echo 'omp.h: no such file' >&2; exit {exit_code}\n"
    )
    path.chmod(0o755)
    return str(path)


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no C++ compiler" in CppDialect().missing(Device("cpu"))


def test_cxx_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/g++")
    assert "CXX=/nowhere/g++ is not a program" in CppDialect().missing(Device("cpu"))


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "g++", "12.2.0"),
        ("Debian clang version 14.0.6", "clang++", "14.0.6"),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", "clang++", "15.0.0"),
    ],
)
def test_version_is_read(monkeypatch, tmp_path, text, kind, version):
    monkeypatch.setenv("CXX", compiler(tmp_path, text))
    found = toolchain.find_compiler()
    assert (found.kind, found.version) == (kind, version)


def test_old_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", compiler(tmp_path, "g++ (GCC) 7.5.0"))
    assert "g++ 7.5.0 is too old, 9 or newer" in CppDialect().missing(Device("cpu"))


def test_compiler_without_openmp(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", compiler(tmp_path, "clang version 14.0.6", exit_code=1))
    message = CppDialect().missing(Device("cpu"))
    assert "does not build OpenMP code (omp.h: no such file)" in message
    assert "libomp" in message


def test_cpp_is_for_the_cpu():
    assert "--device cpu" in CppDialect().missing(Device("cuda"))
