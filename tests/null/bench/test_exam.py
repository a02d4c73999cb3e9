"""Which answers of a checkpoint count in an exam."""

from dataclasses import replace

import pytest
from tests.null.archive.nouns import TASK

from kernelwright.archive import Archive
from kernelwright.bench import questions as asked
from kernelwright.bench.questions import Policy, Questions, outcome_of
from kernelwright.core.call import Outcome
from kernelwright.core.cores import usable_cores
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.llm.endpoint import Reply
from kernelwright.suites.suite import SuiteEntry


@pytest.mark.parametrize(
    ("said", "n_tokens", "counts_as"),
    [
        (Outcome.ANSWERED, 512, Outcome.ANSWERED),
        (Outcome.CUT, 640, Outcome.CUT),
        (Outcome.CUT, 512, Outcome.FAILED),
        (Outcome.CUT, None, Outcome.CUT),
    ],
)
def test_an_answer_cut_by_time_failed_and_one_cut_by_tokens_counts(said, n_tokens, counts_as):
    assert outcome_of(Reply("text", said, output_tokens=n_tokens), 640) is counts_as


def test_a_question_names_the_threads_that_candidates_have(tmp_path):
    """The prompt names them as in training and in searches."""
    told = Settings(dialects=("cpp",))
    assert told.threads == 0  # all that there are
    with Archive(tmp_path / "archive.sqlite") as archive:
        questions = Questions((), told, Device.parse("cpu"), 64, archive)
        blank = questions._blank(Policy(tmp_path, 1), TASK, {TASK.digest: []}, False)
    assert f"threads that candidates run with: {usable_cores()}" in str(blank.messages)


class Endpoint:
    """An endpoint that always gives the same answer."""

    def parameters(self, seed):
        return {"seed": seed}

    def ask(self, messages, parameters, timeout_s):
        return Reply("text", Outcome.ANSWERED, output_tokens=8)


def test_two_problems_with_equal_text_are_asked_and_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(asked, "open_endpoint", lambda _: Endpoint())
    monkeypatch.setattr(asked, "_free", lambda: None)
    entries = [
        SuiteEntry("folder", n, name, replace(TASK, name=name)) for n, name in enumerate("ab")
    ]
    calls = {TASK.digest: []}
    with Archive(tmp_path / "archive.sqlite") as archive:
        told = Settings(dialects=("cpp",))
        questions = Questions(entries, told, Device.parse("cpu"), 64, archive)
        questions.ask(calls, {Policy(tmp_path, 3): 3})
        kept = archive.calls(TASK.digest)
    assert [call.id for call in calls[TASK.digest]] == [call.id for call in kept]
    assert len({call.parameters["seed"] for call in kept}) == len(kept) == 3


def test_answers_that_the_machine_did_not_finish_are_counted_aloud(tmp_path, monkeypatch):
    class Slow(Endpoint):
        def ask(self, messages, parameters, timeout_s):
            return Reply("te", Outcome.CUT, "at the limit of time", output_tokens=2)

    monkeypatch.setattr(asked, "open_endpoint", lambda _: Slow())
    monkeypatch.setattr(asked, "_free", lambda: None)
    calls = {TASK.digest: []}
    with Archive(tmp_path / "archive.sqlite") as archive:
        entry, told = SuiteEntry("folder", 0, "a", TASK), Settings(dialects=("cpp",))
        questions = Questions([entry], told, Device.parse("cpu"), 64, archive)
        with pytest.warns(RuntimeWarning, match="2 of 2 answers do not count.*the limit of time"):
            questions.ask(calls, {Policy(tmp_path, 2): 2})
    assert calls == {TASK.digest: []}
