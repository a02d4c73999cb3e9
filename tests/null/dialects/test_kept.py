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


def test_a_kept_folder_is_made_once_per_version_and_only_the_user_can_write_to_it(cache):
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
def test_a_folder_that_others_can_write_is_not_used(cache, spoil, which):
    if spoil is given_away and os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    folder = kept_folder("thing", "1", right)
    (folder / "said").write_text("wrong")
    spoil(folder if which == "folder" else folder.parent)
    assert said() == "right"
    assert said() == "right"  # and so the next time


def test_without_a_user_folder_the_folder_belongs_to_the_process(cache, tmp_path):
    cache.touch()
    folder = kept_folder("thing", "1", right)
    assert (folder / "said").read_text() == "right"
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_a_failed_make_leaves_no_folder(cache):
    def fail(folder):
        right(folder)
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        kept_folder("thing", "1", fail)
    assert said() == "right"


def test_the_second_process_uses_the_folder_of_the_first(cache):
    def slow(folder):
        assert said() == "right"  # another process is first
        (folder / "said").write_text("second")

    assert (kept_folder("thing", "1", slow) / "said").read_text() == "right"
