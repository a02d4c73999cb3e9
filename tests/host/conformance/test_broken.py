"""Plugins that break their contract fail the suites, with messages that say what to mend."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.host.swarm.candidates import TASK

from kernelwright.core.candidate import Brief, Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import ProposerError
from kernelwright.core.task import Task
from kernelwright.testing.contract import ContractError
from kernelwright.testing.dialects import DialectContract
from kernelwright.testing.loaders import LoaderContract
from kernelwright.testing.proposers import ProposerContract


class BrokenDialect:
    name = "My dialect"

    def __init__(self):
        self.asked = 0

    def missing(self, device):
        self.asked += 1
        return {"cpu": None, "cuda": "no compiler"}[device.kind]

    def is_timed(self, device):
        return None

    def environment(self, device):
        os.environ["MY_DIALECT"] = str(self.asked)
        return {"MY_DIALECT": "1"}

    def recognises(self, tree):
        return tree.body[0].lineno == 1


class OfDialects(DialectContract):
    dialect = BrokenDialect()
    examples = ("\nimport mine\n",)


class BrokenProposer:
    name = "broken"
    n_rounds = 0

    def propose(self, brief):
        BrokenProposer.n_rounds += 1
        if "Model" not in brief.task.source:
            raise ProposerError("it failed")
        text = f"class ModelNew: number = {BrokenProposer.n_rounds}"
        yield Proposal(Candidate(text, "cuda"), proposer="another")


class OfProposers(ProposerContract):
    proposer = BrokenProposer()

    def brief(self) -> Brief:
        return Brief(Task("t", "kernelbench", TASK), Device.parse("cpu"), ("cpp",))


class Threaded:
    name = "threaded"

    def __init__(self):
        type(self).end = threading.Event()

    def propose(self, brief):
        threading.Thread(target=self.end.wait, daemon=True).start()
        yield Proposal(Candidate("class ModelNew: ...", "cpp"), proposer=self.name)


class BrokenLoader:
    def claims(self, target):
        return Path(target).exists()

    def load(self, target, **_):
        return open(target).read()


class OfLoaders(LoaderContract):
    loader = BrokenLoader()

    def targets(self):
        return [__file__]

    def broken(self):
        return [__file__ + ".absent"]


BROKEN = {
    OfDialects: {
        "is_registered_under_its_name": "the name of a dialect is a word of small letters",
        "says_for_every_device_what_is_missing": r"missing\(cuda\) is neither None nor one line",
        "says_for_every_device_whether_its_times_count": r"is_timed\(cpu\) is not a bool",
        "its_environment_is_names_and_texts": r"environment\(cpu\) changes the environment",
        "keeps_no_state": r"missing\(hip:gfx942\) raises KeyError",
        "recognises_its_own_files_and_no_others": "recognises is False for a file in the dialect",
    },
    OfProposers: {
        "is_registered_under_its_name": "BrokenProposer is not registered",
        "a_brief_gives_candidates_in_its_dialects": "in a dialect that the brief leaves out",
        "the_same_brief_gives_the_same_proposals": "other proposals the second time",
        "goes_on_from_what_was_judged": "in a dialect that the brief leaves out",
        "cannot_be_opened_is_a_clear_error": "does not say what to do",
    },
    OfLoaders: {
        "is_registered": "BrokenLoader is not registered",
        "claims_its_targets_and_no_others": r"claims\(target\) raises TypeError",
        "its_tasks_can_be_opened": "load returns no Task",
        "a_target_that_holds_no_task": r"load\(target\) raises FileNotFoundError",
    },
}


@pytest.fixture(autouse=True)
def environment():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_DIALECT", "before")
        yield


@pytest.mark.parametrize(
    ("suite", "part", "message"),
    [(suite, part, message) for suite, found in BROKEN.items() for part, message in found.items()],
)
def test_a_broken_plugin_fails_with_a_message_that_says_what_to_mend(suite, part, message):
    (name,) = [name for name in dir(suite) if name.startswith("test_") and part in name]
    with pytest.raises(ContractError, match=message) as caught:
        getattr(suite(), name)()
    assert caught.value.do


def test_threads_that_go_on_are_seen():
    class Suite(OfProposers):
        proposer = Threaded()
        max_time_s = 0.2

    with pytest.raises(ContractError, match="threads of it go on"):
        Suite().test_it_may_be_abandoned()
    Threaded.end.set()


def test_a_proposer_that_writes_to_its_brief_is_seen():
    class Writing:
        name = "writing"

        def propose(self, brief):
            brief.exemplars[0].proposal.schedule["tile"] = 8
            yield brief.exemplars[0].proposal

    class Suite(OfProposers):
        proposer = Writing()

        def brief(self):
            shown = Proposal(Candidate("class ModelNew: ...", "cpp"), "writing")
            verdict = self._verdict(super().brief(), shown, passed=True)
            return replace(super().brief(), exemplars=(Exemplar(shown, verdict, "other"),))

    with pytest.raises(ContractError, match="the brief has changed"):
        Suite().test_the_brief_stays_as_it_was()
