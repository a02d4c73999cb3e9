"""The cache of the library's compilers: what a killed build left goes, and nothing else."""

import fcntl
import os
import tempfile
import time
from pathlib import Path

import pytest

from kernelwright.core.errors import DeviceError
from kernelwright.judge.baselines import compiler_cache as compiler_cache_module
from kernelwright.judge.baselines.compiler_cache import compiler_cache

HEADERS = "torchinductor_candidate/precompiled_headers"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return compiler_cache()


def begin(cache, name, ending, *, locks="locks"):
    """The files of a build that runs, as inductor and g++ leave them; what it makes, its lock."""
    made = cache / f"{name}{ending}"
    for folder in (cache / f"{name}_CxxBuild", cache / locks):
        folder.mkdir(parents=True)
    (cache / f"{name}.cpp").write_text("the source")
    made.touch()
    lock = cache / locks / f"{made.name.split('.')[0]}.lock"
    lock.touch()
    return made, lock


@pytest.mark.parametrize(
    "name, ending, locks",
    [("43/c434.main", ".so", "locks"), (f"{HEADERS}/cahal.h", ".gch", f"{HEADERS}/locks")],
    ids=["library", "header"],
)
def test_files_that_a_killed_build_left_half_written_are_built_anew(cache, name, ending, locks):
    made, lock = begin(cache, name, ending, locks=locks)
    held = os.open(lock, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert compiler_cache() == cache and made.exists()  # somebody builds it
    os.close(held)
    compiler_cache()
    assert not made.exists() and not (cache / f"{name}_CxxBuild").exists()
    assert (cache / f"{name}.cpp").exists() and lock.exists()


def test_finished_builds_stay(cache):
    made, _ = begin(cache, "43/c434.main", ".so")
    (cache / "43" / "c434.main_CxxBuild").rmdir()
    compiler_cache()
    assert made.exists()


def test_a_cache_that_is_too_large_loses_what_was_used_longest_ago(cache, monkeypatch):
    monkeypatch.setattr(compiler_cache_module, "MOST_BYTES", 25)
    days = {"43/old.so": 9, "43/older.so": 10, "44/used.so": 2, "44/new.so": 0}
    for name, n_days in days.items():
        (cache / name).parent.mkdir(exist_ok=True)
        (cache / name).write_text("0123456789")
        then = time.time() - n_days * 86_400
        os.utime(cache / name, (then, then))
    (cache / compiler_cache_module.LOOKED).unlink()
    compiler_cache()
    left = {str(at.relative_to(cache)) for at in cache.rglob("*.so")}
    assert left == {"44/used.so", "44/new.so"}


def test_temporary_files_of_yesterday_go(cache):
    """Each child left a folder: 4,000 lay there after some weeks."""
    entries = [cache / name for name in ("tmpab12cd", "tmpnew", "ccWTYdiC.s", "cc", "43")]
    for at in entries:
        if at.name.endswith(".s"):
            at.touch()
        else:
            (at / "candidate").mkdir(parents=True)
        if at.name != "tmpnew":
            os.utime(at, (0, 0))
    compiler_cache()
    assert [at.name for at in entries if at.exists()] == ["tmpnew", "cc", "43"]


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No folder of the user's to keep things in; where temporary files lie."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_without_a_home_it_is_among_temporary_files(nowhere):
    """As in containers that are read-only, or whose user is a number."""
    cache = compiler_cache()
    assert cache.is_relative_to(nowhere) and compiler_cache() == cache
    assert cache.stat().st_mode & 0o077 == 0


def test_nothing_is_kept_where_another_may_have_put_something(nowhere):
    compiler_cache().chmod(0o777)
    with pytest.raises(DeviceError, match="XDG_CACHE_HOME"):
        compiler_cache()


def test_a_user_may_have_no_home(nowhere, monkeypatch):
    def without_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", without_home)
    assert compiler_cache().is_relative_to(nowhere)
