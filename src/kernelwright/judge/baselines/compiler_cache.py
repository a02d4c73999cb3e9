"""The folder in which the library's compilers keep their work, and how it is cleaned.

Inductor lets g++ write a library to where it is looked for, and builds nothing that is there: one
that a killed process left half written would be loaded, and fail, for ever. While it builds, a
folder lies beside the library, and the process holds a lock: a folder whose lock is free is of a
build that nobody will finish. Triton renames what it has finished.

Source:
    torch/_inductor/cpp_builder.py (CppBuilder.build), torch/_inductor/codecache.py
    (_worker_compile_cpp, _precompile_header), of torch 2.13.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from kernelwright.judge.sandbox.file_locks import lock, users_folder

BUILT = (".so", ".o", ".gch")
"""The endings of files that g++ writes, which may be half written; the sources beside are whole."""
IN_WORK = "_CxxBuild"
"""The ending of the name of a folder in which a build runs."""
TEMPORARY, DAY_S = ("tmp*", "cc??????.*"), 86_400
"""Files that killed children and compilers leave, and the age from which nobody uses them."""
MOST_BYTES = 10 << 30
"""The size of all that is kept; what was not used for longest goes first."""
LOOKED = "looked-at"
"""A file whose age says when the size was looked at: once a day is enough."""


def compiler_cache() -> Path:
    """The folder in which the library's compilers keep their work between runs, cleaned of what
    killed builds have left. No candidate sees it.

    Raises:
        DeviceError: no folder can be used.
    """
    folder = users_folder("baselines")
    _make_room(folder)
    for at in itertools.chain(*map(folder.glob, TEMPORARY)):
        _remove_if_old(at)
    for at in folder.glob(f"??/*{IN_WORK}"):
        _sweep(at, folder / "locks")
    for at in folder.glob(f"torchinductor_*/precompiled_headers/*{IN_WORK}"):
        _sweep(at, at.parent / "locks")
    return folder


@contextlib.contextmanager
def folder_in(cache: Path) -> Iterator[str]:
    """The name of a folder in the cache that a child may make. It is removed when the context ends;
    the child must have ended by then. The folder of a killed judge is removed when it is old."""
    name = f"tmp{secrets.token_hex(4)}"
    try:
        yield name
    finally:
        shutil.rmtree(cache / name, ignore_errors=True)


def _make_room(folder: Path) -> None:
    """Once a day, remove the files that were not used for longest if all are too large.

    The compilers build what they miss. Files that were used within a day stay: a judge may be about
    to load them.
    """
    looked, now = folder / LOOKED, time.time()
    with contextlib.suppress(OSError):  # another judge was quicker, or the disk is full
        if looked.exists() and now - looked.stat().st_mtime < DAY_S:
            return
        looked.touch()
        files = [
            (max(about.st_atime, about.st_mtime), about.st_size, at)
            for at in folder.rglob("*")
            if stat.S_ISREG((about := at.lstat()).st_mode)
        ]
        n_bytes = sum(size for _, size, _ in files)
        for used_at, size, at in sorted(files):
            if n_bytes <= MOST_BYTES or now - used_at < DAY_S:
                return
            at.unlink(missing_ok=True)
            n_bytes -= size


def _remove_if_old(at: Path) -> None:
    with contextlib.suppress(OSError):  # another judge was quicker
        if time.time() - at.lstat().st_mtime > DAY_S:
            shutil.rmtree(at) if at.is_dir() and not at.is_symlink() else at.unlink()


def _sweep(at: Path, locks: Path) -> None:
    """Remove an unfinished build and its folder, unless a process still works on it."""
    name = at.name.removesuffix(IN_WORK)
    # It stays where somebody holds the lock; another judge may sweep it too.
    with contextlib.suppress(OSError):
        held = lock(locks / f"{name.split('.')[0]}.lock", fcntl.LOCK_EX | fcntl.LOCK_NB, os.O_RDWR)
        try:
            for ending in BUILT:
                at.with_name(name + ending).unlink(missing_ok=True)
            shutil.rmtree(at)  # the mark of it, so at last
        finally:
            os.close(held)
