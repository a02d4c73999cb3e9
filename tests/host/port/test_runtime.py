"""The emulation's own objects: linked into every program, so from a private folder alone."""

import stat

from kernelwright.dialects.simt import machine


def test_the_runtime_is_kept_in_a_folder_that_only_the_user_can_write(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = machine.runtime.__wrapped__()
    assert built.exists() and built.is_relative_to(tmp_path / "cache")
    assert stat.S_IMODE(built.parent.stat().st_mode) == 0o700
    before = built.stat()
    assert machine.runtime.__wrapped__() == built and built.stat() == before
    assert list(shared.iterdir()) == []
