"""The space of a task's candidates: none is lost or comes twice, and winners of similar programs
lend their knobs."""

import itertools

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.core.trial import Trial, TrialOutcome
from kernelwright.tuner.similar import Winners, similarity
from kernelwright.tuner.space import Space

TEXT = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return {result}

def get_inputs():
    return [torch.randn({rows}, {columns})]

def get_init_inputs():
    return []
"""


def space(rows, columns, result="torch.softmax(x, dim=-1)", winners=None):
    task = Task("task", "kernelbench", TEXT.format(result=result, rows=rows, columns=columns))
    return Space(Brief(task, Device.parse("cuda:sm_90"), ("cuda",)), winners)


def knobs_of(proposal):
    [step] = [v for v in proposal.schedule["kernels"].values() if isinstance(v, dict)]
    return step


def winner(of, knobs):
    """A trial of a candidate with other knobs, which was the fastest of its task."""
    proposal = next(of.stream([]))
    [name] = [n for n, v in proposal.schedule["kernels"].items() if isinstance(v, dict)]
    told = {"variant": "fused", "kernels": {name: {**knobs_of(proposal), **knobs}}}
    outline = of.outline(proposal)
    return Trial("c", "cuda", TrialOutcome.MEASURED, told, time_ns=1.0, outline=outline)


def test_streams_that_are_left_lose_no_candidate():
    whole = {p.candidate.digest for p in space(4096, 1024).stream([])}
    parted, other = [], space(4096, 1024)
    while some := [*itertools.islice(other.stream(parted[:1]), 3)]:
        parted += some
        if len(parted) > 60:
            break
    digests = [p.candidate.digest for p in parted]
    assert whole <= set(digests) and len(set(digests)) == len(digests)


def test_a_search_begins_with_what_won_for_a_similar_program():
    won = winner(space(2048, 2048), {"threads": 512, "vector": 2})
    winners = Winners({("other", "here"): [won]})
    mine = space(4096, 1024, winners=winners)
    first, second = itertools.islice(mine.stream([]), 2)
    assert mine.goes_first(first) and mine.goes_first(second)
    assert (knobs_of(second)["threads"], knobs_of(second)["vector"]) == (512, 2)
    assert "similar program" in second.note
    assert first.candidate == next(space(4096, 1024).stream([])).candidate


def test_programs_with_other_operators_lend_nothing():
    softmax, other = space(4096, 1024), space(4096, 1024, "(x * 2 + 1).tanh().abs()")
    won = winner(other, {})
    outline = softmax.outline(next(softmax.stream([])))
    [mine], [theirs] = outline.steps, won.outline.steps
    assert similarity(mine, theirs) < 0.5 < similarity(mine, mine)
    assert Winners({("other", "here"): [won]}).knobs(outline, "cuda") == {}
