import pytest
from tests.null.archive.server import Server


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Where appends wait for a server."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "archive.sqlite"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("postgres"))
    yield found
    found.stop()


@pytest.fixture
def url(server):
    return server.url()
