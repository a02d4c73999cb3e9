"""What the tests of the whole loop share: importing torch's compilers takes five seconds."""

import pytest

from kernelwright.judge import WarmProgram


@pytest.fixture(scope="session")
def nursery():
    """The process that most judges' children come from, as those of a suite do."""
    with WarmProgram() as one:
        yield one
