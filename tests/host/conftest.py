"""What the tests of the whole loop share: importing torch's compilers takes five seconds."""

import pytest

from kernelwright.judge import WarmProgram, baselines


@pytest.fixture(scope="session")
def nursery():
    """The process that most judges' children come from, as those of a suite do."""
    with WarmProgram() as one:
        yield one


@pytest.fixture
def few_settings(monkeypatch):
    """Two settings of the library, one of them compiled: they are sooner ready than all."""
    two = [s for s in baselines.settings("cpu", "") if s.name in ("eager", "compile")]
    monkeypatch.setattr(baselines, "settings", lambda *_: two)
