from tests.null.cli.conftest import run  # noqa: F401  a fixture
