"""The emulation's own objects: linked into every program, so from a private folder alone."""

import stat

from kernelwright.dialects.simt import machine


def test_objects_are_kept_in_a_folder_that_only_the_user_can_write(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = machine._runtime.__wrapped__()
    assert all(path.exists() for path in built) and len(built) == 5
    assert built[0].is_relative_to(tmp_path / "cache")
    assert stat.S_IMODE(built[0].parent.stat().st_mode) == 0o700
    before = built[0].stat()
    assert machine._runtime.__wrapped__() == built and built[0].stat() == before
    assert list(shared.iterdir()) == []
