"""The curve says how many answers of the fast judge were audited, and how many are disputed."""

from dataclasses import replace

import pytest
from tests.null.swarm.briefs import CODE, TASK, verdict

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError
from kernelwright.train import recipe
from kernelwright.train.recipes import keep, require_same
from kernelwright.train.reward import Judged
from kernelwright.train.rollouts import Rollouts

RIGHT = verdict(Candidate(CODE, "cpp"), 1.25)
WRONG = verdict(Candidate(CODE, "cpp"), reason="y[3] is 7 and should be 8")


class Pool:
    n_judged = 4


def logged(judge):
    """What a batch of four answers logs, two of them audited and one disputed."""
    told = recipe("contrastive", model="m", out="o", archive="a", group=4, judge=judge)
    rollouts = Rollouts(told, {TASK.digest: TASK}, ["cpp"], Pool(), None)
    judged = [
        Judged(RIGHT, audit=RIGHT),
        Judged(WRONG, audit=WRONG, is_disputed=True),
        Judged(RIGHT),
        Judged(None),
    ]
    found = {}
    rollouts.earn(judged, found.__setitem__)
    return found


def test_audits_of_the_fast_judge_are_logged_and_published():
    found = logged("fast")
    assert (found["audit/answers"], found["audit/disputed"]) == (2, 1)
    assert not [name for name in logged("full") if name.startswith("audit/")]


@pytest.mark.parametrize("other", [{"judge": "full"}, {"audit": 0.2}])
def test_a_stage_does_not_go_on_with_another_judge_or_other_audits(tmp_path, other):
    told = recipe("contrastive", model="m", out=str(tmp_path), archive="a", judge="fast")
    keep(told, [])
    with pytest.raises(UsageError, match=next(iter(other))):
        require_same(replace(told, **other), [])
