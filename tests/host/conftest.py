"""What the tests of the whole loop share: importing torch's compilers takes five seconds."""

import pytest

from kernelwright.judge import SharedForkServerProcess
from kernelwright.judge.baselines import library_settings


@pytest.fixture(scope="session")
def fork_server():
    """The process that most judges' children come from, as those of a suite do."""
    with SharedForkServerProcess() as one:
        yield one


@pytest.fixture
def few_settings(monkeypatch):
    """Two settings of the library, one of them compiled: they are sooner ready than all."""
    two = [s for s in library_settings.settings_of("cpu", "") if s.name in ("eager", "compile")]
    monkeypatch.setattr(library_settings, "settings_of", lambda *_, **__: two)


@pytest.fixture
def only_eager(monkeypatch):
    """Eager mode as the only setting of the library, for tests that do not need a compiled one:
    compiling takes half a minute."""
    rows = library_settings.SETTINGS["cpu"]
    monkeypatch.setitem(library_settings.SETTINGS, "cpu", rows[:1])
