"""Folders kept for a user between processes: made once, and never taken from somebody else."""

import os
import stat
import tempfile

import pytest

from kernelwright.dialects.kept import kept_folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / "cache"


def right(folder):
    (folder / "said").write_text("right")


def said(version="1"):
    return (kept_folder("thing", version, right) / "said").read_text()


def test_it_is_made_once_for_each_version_and_nobody_else_may_write_to_it(cache):
    def again(folder):
        pytest.fail("made again")

    first = kept_folder("thing", "1", right)
    assert kept_folder("thing", "1", again) == first
    assert kept_folder("thing", "2", right) != first
    assert first.is_relative_to(cache)
    for folder in (first, first.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(list(first.parent.iterdir())) == 2


def opened(folder):
    folder.chmod(0o777)


def given_away(folder):
    os.chown(folder, 65534, 65534)


def linked(folder):
    other = folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(other)


@pytest.mark.parametrize("spoil", [opened, given_away, linked])
@pytest.mark.parametrize("which", ["folder", "its parent"])
def test_what_somebody_else_may_have_written_is_not_used(cache, spoil, which):
    if spoil is given_away and os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    folder = kept_folder("thing", "1", right)
    (folder / "said").write_text("wrong")
    spoil(folder if which == "folder" else folder.parent)
    assert said() == "right"
    assert said() == "right"  # and so the next time


def test_where_the_users_folder_cannot_be_made_it_is_one_of_this_process(cache, tmp_path):
    cache.touch()
    folder = kept_folder("thing", "1", right)
    assert (folder / "said").read_text() == "right"
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_what_cannot_be_made_leaves_nothing(cache):
    def fail(folder):
        right(folder)
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        kept_folder("thing", "1", fail)
    assert said() == "right"


def test_who_is_second_takes_what_the_first_made(cache):
    def slow(folder):
        assert said() == "right"  # another process is first
        (folder / "said").write_text("second")

    assert (kept_folder("thing", "1", slow) / "said").read_text() == "right"
