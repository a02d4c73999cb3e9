from tests.null.swarm.conftest import at_once, scripted  # noqa: F401  the same
