import pytest
from tests.null.swarm.scripted import ScriptedServer

from kernelwright.llm import server
from kernelwright.llm.keys import providers
from kernelwright.llm.opening import open_endpoint
from kernelwright.proposers.swarm import concurrency


@pytest.fixture
def scripted(monkeypatch):
    """A real local HTTP server with scripted answers."""
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
    """Set the number of questions in each round; the default is one."""

    def tell(n):
        monkeypatch.setattr(concurrency, "FIRST", n)
        monkeypatch.setattr(concurrency, "MAX_LOCAL", n)

    tell(1)
    return tell
