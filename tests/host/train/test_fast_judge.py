"""The fast judge: what it admits, finds right and times, and what audits change and say.

On a CPU no dialect is both admitted and compiled, so the tasks here lay tensors out anew: the only
work that a file in torch may have done for it.
"""

import contextlib
from dataclasses import replace

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.core.trial import NO_JUDGE, Trial, TrialOutcome
from kernelwright.proposers.swarm.answer import read
from kernelwright.train.fast_judge import Fast
from kernelwright.train.reward import by_speed, in_parts
from kernelwright.train.reward_worker import PolicyAnswer, RewardWorker
from kernelwright.tuner.trials import TUNER_VERSION

SOURCE = """
import torch
from torch import nn


class {name}(nn.Module):
    def forward(self, x):
        {forward}


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
"""
TASK = Task("turned", "dataset", SOURCE.format(name="Model", forward="return x.t().contiguous()"))
ANSWERS = {
    "in place": "y = x.t().contiguous()\n        x[:] = 0.0\n        return y",
    "right": "return x.permute(1, 0).contiguous()",
    "slow": "for number in range(30):\n            y = x.t().contiguous()\n        return y",
    "wrong": "return x.contiguous().view(512, 256)",
    "unwritten": "y = torch.empty(512, 256)\n        y[:100] = x.t()[:100]\n        return y",
    "library": "return (x * 1.0).t().contiguous()",
    "not admitted": "return torch.load('x')",
    "right by luck": "return x.t().contiguous() if x[0, 0] != x[0, 1] else torch.ones(512, 256)",
}


def answered(name):
    text = SOURCE.format(name="ModelNew", forward=ANSWERS[name])
    return PolicyAnswer(TASK, "torch", f"```python\n{text}```\n", model="m")


@contextlib.contextmanager
def worker(tmp_path, audit):
    """(a worker with the fast judge, its archive)"""
    url = str(tmp_path / "archive.sqlite")
    settings = Settings(archive=url, threads=1, dialects=("torch",))
    opened = RewardWorker(settings, Device.parse("cpu"), True, Fast(audit))
    try:
        yield opened, opened.archive
    finally:
        opened.close()


def judged(opened, names):
    [(found, _)] = opened.judge([[answered(name) for name in names]])
    return dict(zip(names, found, strict=True))


def test_answers_are_tried_and_the_right_ones_timed_over_eager(tmp_path):
    with worker(tmp_path, 0.0) as (opened, archive):
        found = judged(opened, [name for name in ANSWERS if name != "right by luck"])
        statuses = {name: str(each.evaluation.status) for name, each in found.items()}
        assert statuses == {
            "in place": "wrong_values",
            "right": "passed", "slow": "passed", "wrong": "wrong_values",
            "unwritten": "wrong_values", "library": "runtime_error", "not admitted": "rejected",
        }  # fmt: skip
        assert "the library does its work: mul" in found["library"].evaluation.why
        assert "load" in found["not admitted"].evaluation.why
        speeds = {name: found[name].evaluation.speedup for name in ("right", "slow")}
        assert speeds["right"].low > 5 * speeds["slow"].high
        assert by_speed(found["right"]) > by_speed(found["slow"]) > by_speed(found["wrong"]) == 0.0
        advantages = dict(zip(found, in_parts([*found.values()]), strict=True))
        assert advantages["right"] > advantages["wrong"] > advantages["not admitted"]
        assert archive.history(TASK.digest) == []  # trials are no verdicts
        trials = archive.trials_everywhere(TASK.digest)
        assert len(trials) == 6 and {version for _, version, _ in trials} == {TUNER_VERSION}
        again = judged(opened, ["right"])["right"].evaluation
        assert again == found["right"].evaluation  # not timed until it is lucky
        assert len(archive.trials_everywhere(TASK.digest)) == 6


def test_a_trial_of_a_search_does_not_say_that_an_answer_does_its_own_work(tmp_path):
    with worker(tmp_path, 0.0) as (opened, archive):
        environment = judged(opened, ["right"])["right"].evaluation.environment
        name = Candidate(read(answered("library").text, "torch").code, "torch").digest
        trial = Trial(name, "torch", TrialOutcome.MEASURED, {}, "", 1e3, 9e3, 8)
        run = archive.start_run(TASK, Settings())
        archive.add_trials(run, environment, TUNER_VERSION, [trial])
        assert "the library does its work" in judged(opened, ["library"])["library"].evaluation.why


def test_another_layout_of_an_answer_is_not_timed_again(tmp_path):
    with worker(tmp_path, 0.0) as (opened, archive):
        first = judged(opened, ["right"])["right"].evaluation
        text = answered("right").text.replace("import torch\n", "import torch  # again\n", 1)
        [([again], _)] = opened.judge([[replace(answered("right"), text=text)]])
        assert again.evaluation == first and len(archive.trials_everywhere(TASK.digest)) == 1


def test_an_audit_is_a_verdict_that_counts_where_it_refuses_an_answer(tmp_path):
    with worker(tmp_path, 1.0) as (opened, archive):
        found = judged(opened, ["right", "wrong", "right by luck"])
        assert all(each.audit is not None for each in found.values())
        right, wrong, lucky = found.values()
        assert not wrong.is_disputed and wrong.evaluation.judge_version == NO_JUDGE
        assert lucky.is_disputed and not lucky.audit.passed
        assert right.is_disputed and right.audit.passed  # the judge says that copying is no kernel
        for each in (right, lucky):
            assert each.evaluation == each.audit
            assert by_speed(each) <= 0.0
        assert len(archive.history(TASK.digest)) == 3
        again = judged(opened, ["right by luck"])["right by luck"]
        assert again.is_disputed and again.audit == lucky.audit
        assert len(archive.history(TASK.digest)) == 3  # no text is judged until it is lucky


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_a_stated_share_of_answers_is_audited_and_the_same_ones_in_every_run(rate):
    texts = [SOURCE.format(name="ModelNew", forward=f"return x + {n}") for n in range(300)]
    candidates = [Candidate(text, "torch") for text in texts]
    chosen = [Fast(rate).audits(candidate) for candidate in candidates]
    assert abs(sum(chosen) / 300 - rate) < 0.08
    assert chosen == [Fast(rate).audits(candidate) for candidate in candidates]
