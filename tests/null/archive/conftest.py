import pytest


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Where appends wait for a server."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "archive.sqlite"
