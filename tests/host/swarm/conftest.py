from tests.null.swarm.conftest import scripted  # noqa: F401  the same server
