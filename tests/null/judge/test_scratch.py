"""Folders of judges: one of a living process is its own, and what one that was killed left goes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.judge.sandbox import file_locks
from kernelwright.judge.sandbox.scratch import Scratch

OWNER = """
from pathlib import Path
from kernelwright.judge.sandbox.scratch import Scratch
scratch = Scratch()
Path(scratch.path, "0").mkdir()
print(scratch.path, flush=True)
input()
"""


@pytest.fixture
def owner(tmp_path):
    """Another process that has made a folder, and the folder."""
    how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", OWNER], env=environment, **how) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_only_what_a_dead_process_left_is_swept(owner, tmp_path, monkeypatch):
    monkeypatch.setattr(file_locks.tempfile, "gettempdir", lambda: str(tmp_path))
    process, theirs = owner
    mine, others = Scratch(), tmp_path / "kernelwright-judge-x"
    others.mkdir()
    assert theirs.parent == tmp_path and (theirs / "0").exists() and Path(mine.path).exists()
    process.kill()
    process.wait()
    last = Scratch()
    assert not theirs.exists() and Path(mine.path).exists() and others.exists()
    for scratch in (mine, last):
        scratch.close()
        assert not Path(scratch.path).exists()


def nest(folder, n_levels):
    at = os.open(folder, os.O_RDONLY)
    for _ in range(n_levels):
        os.mkdir("a", dir_fd=at)
        below = os.open("a", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def test_folders_that_a_candidate_nested_a_thousand_deep_go_too(owner, tmp_path, monkeypatch):
    """They ended this judge, and each later one that swept."""
    monkeypatch.setattr(file_locks.tempfile, "gettempdir", lambda: str(tmp_path))
    process, theirs = owner
    nest(theirs, 1500)
    process.kill()
    process.wait()
    mine = Scratch()
    nest(mine.path, 1500)
    mine.close()
    assert not theirs.exists() and not Path(mine.path).exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_and_a_link_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(file_locks.tempfile, "gettempdir", lambda: str(tmp_path))
    prefix = file_locks.users_path("scratch-")
    other, link, target = (tmp_path / name for name in (f"{prefix.name}a", f"{prefix.name}b", "c"))
    other.mkdir()
    os.chown(other, 12345, 12345)
    target.mkdir()
    link.symlink_to(target)
    Scratch().close()
    assert other.exists() and link.is_symlink() and target.exists()


def test_closed_folders_are_removed_and_targets_of_links_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(file_locks.tempfile, "gettempdir", lambda: str(tmp_path))
    mine, kept = Scratch(), tmp_path / "kept"
    (kept / "inside").mkdir(parents=True)
    closed = Path(mine.path, "0", "closed")
    closed.mkdir(parents=True)
    (closed / "file").touch()
    (closed / "link").symlink_to(kept)
    Path(mine.path, "link").symlink_to(kept)
    closed.chmod(0)
    mine.close()
    assert not Path(mine.path).exists() and (kept / "inside").exists()
