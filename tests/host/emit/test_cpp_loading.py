"""The folder of an emitted file's compiled kernels: nobody else can put a library there."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

import kernelwright
from kernelwright.compiler.codegen.cpp import loader

TASKS = Path(kernelwright.__file__).parent / "tasks"
TRUTH = 'extern "C" int f() { return 1; }\n'
LIE = 'extern "C" int f() { return 666; }\n'


def answer(source: str = TRUTH) -> int:
    """Return the result of ``f``, built by the emitted lines."""
    lines = [*loader.IMPORTS, f"SOURCE = {source!r}", loader.BUILD]
    names: dict = {}
    exec("\n".join(lines), names)
    return names["_library"].f()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The user's folder for caches; nothing else names one."""
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "cpp-kernels"


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder for temporary files that everybody may write to."""
    folder = tmp_path / "shared"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def libraries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.so"))


def put_a_lie(path: Path) -> None:
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", path], input=LIE.encode(), check=True
    )


def test_kernels_are_kept_in_a_folder_of_the_users_own(home, shared):
    old = os.umask(0)
    try:
        assert answer() == 1
    finally:
        os.umask(old)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    (kept,) = libraries(home)
    before = kept.stat()
    assert answer() == 1
    assert kept.stat() == before and list(home.iterdir()) == [kept]
    assert list(shared.iterdir()) == []


def test_nothing_is_loaded_from_a_folder_that_others_may_write_to(home, shared):
    assert answer() == 1
    (kept,) = libraries(home)
    kept.unlink()
    put_a_lie(kept)
    home.chmod(0o777)
    assert answer() == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_nothing_is_loaded_from_another_users_folder(home, shared):
    assert answer() == 1
    (kept,) = libraries(home)
    kept.unlink()
    put_a_lie(kept)
    os.chown(home, 65534, 65534)
    assert answer() == 1


def test_without_a_user_folder_no_kernels_are_kept(home, shared, tmp_path):
    (tmp_path / "cache").touch()
    assert answer() == 1
    assert libraries(tmp_path) == []


def test_a_folder_that_is_named_is_used(tmp_path, monkeypatch):
    named = tmp_path / "named"
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(named))
    assert answer() == 1 and len(libraries(named)) == 1


@pytest.mark.parametrize("what", ["g++ 12", "znver3"])
def test_another_compiler_or_processor_builds_anew(home, shared, tmp_path, monkeypatch, what):
    """Two machines may share a home folder, and code for one processor may crash on the other."""
    compiler = tmp_path / "g++"
    monkeypatch.setenv("CXX", str(compiler))
    for told in ("this", what):
        compiler.write_text(
            '#!/bin/sh\ncase "$*" in *"-###"*) echo "' + told + '" >&2;; *) exec g++ "$@";; esac\n'
        )
        compiler.chmod(0o755)
        assert answer() == 1
    assert len(libraries(home)) == 2


def test_a_compile_error_is_reported(home, shared):
    with pytest.raises(RuntimeError, match="failed"):
        answer("int f( {")


COMPILED = sorted(path for path in TASKS.glob("*/*.py") if "ctypes.CDLL" in path.read_text())


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_task_s_own_kernels_lie_in_a_private_folder(path, home, shared):
    names: dict = {}
    exec(path.read_text(), names)
    names["build"]()
    (library,) = libraries(shared)
    assert library.parent != shared and stat.S_IMODE(library.parent.stat().st_mode) == 0o700
