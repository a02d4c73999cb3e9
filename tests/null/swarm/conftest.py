import pytest
from tests.null.swarm.scripted import ScriptedServer

from kernelwright.llm import server
from kernelwright.llm.endpoint import open_endpoint
from kernelwright.llm.keys import providers
from kernelwright.proposers.swarm import concurrency


@pytest.fixture
def scripted(monkeypatch):
    """A real HTTP server on this machine that answers as the test says."""
    pytest.importorskip("openai")
    for provider in providers().values():
        for name in provider["keys"]:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(server, "WAITS_S", (0.01, 0.02, 0.04))
    open_endpoint.cache_clear()
    with ScriptedServer() as running:
        yield running
    open_endpoint.cache_clear()


@pytest.fixture
def at_once(monkeypatch):
    """Tell how many questions are in each round; one until then."""

    def tell(n):
        monkeypatch.setattr(concurrency, "FIRST", n)
        monkeypatch.setattr(concurrency, "MAX_LOCAL", n)

    tell(1)
    return tell
