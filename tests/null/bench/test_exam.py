"""What counts as a checkpoint's answer in an exam."""

import pytest

from kernelwright.bench.questions import ending
from kernelwright.core.call import Outcome
from kernelwright.propose.swarm.endpoint import Reply


@pytest.mark.parametrize(
    ("said", "n_tokens", "counts_as"),
    [
        (Outcome.ANSWERED, 512, Outcome.ANSWERED),
        (Outcome.CUT, 640, Outcome.CUT),
        (Outcome.CUT, 512, Outcome.FAILED),
        (Outcome.CUT, None, Outcome.CUT),
    ],
)
def test_what_the_clock_cuts_off_is_the_machines_fault_and_what_the_limit_does_the_models(
    said, n_tokens, counts_as
):
    assert ending(Reply("text", said, output_tokens=n_tokens), 640) is counts_as
