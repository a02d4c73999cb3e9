"""A run whose models give no answer is an error."""

import pytest
from tests.null.swarm.briefs import call

from kernelwright.core.call import Outcome
from kernelwright.core.errors import ProposerError
from kernelwright.proposers.feed import require_an_answer

DEAD = call(1, outcome=Outcome.FAILED, detail="Connection error.")


def test_only_failed_calls_are_an_error_with_the_reason():
    with pytest.raises(ProposerError, match="no model answered") as raised:
        require_an_answer([DEAD, DEAD])
    assert "Connection error." in raised.value.seen and DEAD.model in raised.value.seen


@pytest.mark.parametrize("outcome", [Outcome.ANSWERED, Outcome.CUT, Outcome.REFUSED])
def test_one_answer_of_any_kind_is_enough(outcome):
    require_an_answer([DEAD, call(2, outcome=outcome)])
    require_an_answer([])
