"""The swarm in the whole loop, with the real judge and a real server of scripted answers."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.host.swarm.candidates import (
    BROKEN,
    FASTER,
    LIBRARY_CALLS,
    METAL,
    REWORDED,
    RIGHT,
    SCHEDULED,
    SLOW_CALLS,
    SPYING,
    TASK,
    WRONG,
)
from tests.null.swarm.scripted import fail, say, slow

from kernelwright.archive import Archive
from kernelwright.core import schedule_line
from kernelwright.core.errors import ProposerError
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.dataset.grid import build_grid
from kernelwright.dialects.simt.metal import msl_missing
from kernelwright.judge import Judge
from kernelwright.loaders import load
from kernelwright.proposers.policy import CONTEXT
from kernelwright.search import loop

SECRET = re.compile(rb"key-of-(openai|mine)")
ONE_CALL_TOKENS = 150  # what the scripted server counts


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.py"
    path.write_text(TASK)
    return load(path)


@pytest.fixture
def swarm(tmp_path, scripted, task):
    """Search with only the swarm; return (result, calls)."""

    def run(**given):
        told = {"proposers": ("swarm",), "models": (scripted.model,), "dialects": ("cpp",)}
        told |= {"contexts": ("reference,verdicts,exemplars",), "budget_s": 300.0}
        archive = str(tmp_path / "archive.sqlite")
        settings = Settings(**(told | {"archive": archive, "out": str(tmp_path)} | given))
        progress = []
        result = loop.optimize(task, settings=settings, on_progress=progress.append)
        with Archive(archive) as opened:
            return result, opened.calls(task.digest), progress

    return run


def statuses(result):
    """One for each candidate: those that may win are measured again."""
    found = {proposal.candidate.digest: seen.status for proposal, seen in result.evaluated}
    return [*found.values()]


@pytest.mark.slow
def test_a_search_goes_from_broken_to_wrong_to_correct_to_faster(
    swarm, scripted, at_once, monkeypatch, tmp_path
):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.setenv("VLLM_API_KEY", "key-of-mine")
    scripted.script = [say(text) for text in (BROKEN, WRONG, RIGHT, REWORDED, SPYING)]
    result, calls, progress = swarm(budget_tokens=5 * ONE_CALL_TOKENS)
    expected = [Status.BUILD_ERROR, Status.WRONG_VALUES, Status.PASSED, Status.PASSED]
    assert statuses(result) == expected, result.evaluated[-1][1].reasons
    assert [call.purpose for call in calls[3:]] == ["optimise"] * 2

    asked = [request["messages"][-1]["content"] for request in scripted.requests]
    assert "expected primary-expression" in asked[1]  # the compiler's complaint
    assert "This candidate is right. Make it faster" in asked[4] and "exp(-(" in asked[4]

    assert progress[-1].tokens == sum(call.tokens for call in calls) == 5 * ONE_CALL_TOKENS
    proposal, _ = result.evaluated[2]
    assert proposal.call == calls[2].id and proposal.input_tokens == 100
    assert proposal.lineage == (scripted.model,)

    assert "key-of-mine" in str(scripted.requests[0]["headers"])  # it was there to be stolen
    assert "key-of" not in str(asked)
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or not SECRET.search(path.read_bytes())


def test_an_untimed_search_ends_with_the_first_correct_kernel(
    swarm, scripted, at_once, monkeypatch
):
    monkeypatch.setattr(Judge, "strongest", property(lambda judge: 1 / 0))
    scripted.script = [say(WRONG), say(RIGHT), slow(1, say("no more"))]
    result, calls, _ = swarm(timed=False)
    assert statuses(result) == [Status.WRONG_VALUES, Status.PASSED]
    assert result.best is None and result.evaluated[1][1].timing is None
    assert len(calls) < 60  # for as long as the right one was being judged, and no longer


@pytest.mark.slow
def test_an_answer_received_before_a_kill_is_judged_by_the_next_run(tmp_path, scripted, task):
    """The process is killed while the judge works on the first answer."""
    scripted.script = [say(RIGHT), slow(60, say(WRONG))]
    words = ["optimize", "task.py", "--proposer", "swarm", "--model", scripted.model]
    words += ["--dialect", "cpp", "--budget", "300s", "--archive", "a.sqlite", "--seed", "1"]
    command = [sys.executable, "-m", "kernelwright", *words]
    process = subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120  # from a cold disk on a loaded machine
    calls = []
    while not calls and time.monotonic() < deadline:
        time.sleep(0.2)
        with contextlib.suppress(Exception), Archive(tmp_path / "a.sqlite", create=False) as opened:
            calls = opened.calls(task.digest)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert calls[0].answer == RIGHT
    with Archive(tmp_path / "a.sqlite") as opened:
        assert opened.history(task.digest) == []
    scripted.script = [say("nothing")]
    settings = Settings(
        proposers=("swarm",), models=(scripted.model,), dialects=("cpp",), budget_tokens=1,
        archive=str(tmp_path / "a.sqlite"), out=str(tmp_path),
    )  # fmt: skip
    assert statuses(loop.optimize(task, settings=settings)) == [Status.PASSED]


def test_a_wrong_key_is_one_error(swarm, scripted):
    scripted.script = [fail(401, "bad key")]
    with pytest.raises(ProposerError, match="refuses the key"):
        swarm()


@pytest.mark.slow
def test_the_winner_of_the_rules_is_shown_to_the_swarm(swarm, scripted):
    scripted.script = [say(FASTER)]
    swarm(proposers=("rules", "swarm"), budget_s=60.0, budget_tokens=1)
    (request,) = scripted.requests
    text = request["messages"][-1]["content"]
    assert "This candidate is right. Make it faster" in text and "_library = _build(SOURCE)" in text


def test_a_search_with_a_dead_endpoint_ends_with_the_budget(swarm, scripted, monkeypatch):
    """No library setting is timed if there is no candidate to compare."""
    monkeypatch.setattr(Judge, "strongest", property(lambda judge: 1 / 0))
    scripted.die()
    with pytest.raises(ProposerError, match="no model answered"):
        swarm(budget_s=2.0)


def test_answers_without_code_end_with_the_budget_and_the_library(swarm, scripted, monkeypatch):
    monkeypatch.setattr(Judge, "strongest", property(lambda judge: 1 / 0))
    scripted.script = [slow(0.2, say("I cannot say."))]
    result, calls, _ = swarm(budget_s=2.0)
    assert calls and not result.evaluated
    assert result.strongest == "" and "Model" in result.source_path.read_text()


def test_what_a_trial_finds_slower_gets_no_verdict_if_models_are_to_be_tried(
    swarm, scripted, only_eager
):
    scripted.script = [say(LIBRARY_CALLS), say(SLOW_CALLS)]
    result, calls, progress = swarm(
        dialects=("torch",), try_admitted=True, budget_tokens=2 * ONE_CALL_TOKENS
    )
    assert len(calls) == 2 and statuses(result) == [Status.PASSED]
    assert any("slower, not judged" in report.doing for report in progress)
    assert max(report.n_trials for report in progress) == 2


def test_a_served_policy_sees_contrast_and_the_tuner_chooses_the_schedule(
    swarm, scripted, only_eager
):
    scripted.script = [say(SCHEDULED), say(SLOW_CALLS)]
    result, calls, progress = swarm(
        proposers=("policy",), dialects=("torch",), contexts=(), try_admitted=True,
        budget_tokens=4 * ONE_CALL_TOKENS,
    )  # fmt: skip
    assert {call.context for call in calls} == {CONTEXT}
    (proposal, verdict), *_ = result.evaluated
    assert verdict.passed and proposal.proposer == "policy"
    judged = schedule_line.read(proposal.candidate.source)
    assert proposal.schedule["line"] == judged and judged["TERMS"] < 128
    assert max(report.n_trials for report in progress) > 2
    # The next answer may be asked for while the first is judged; those after it may not.
    later = [request["messages"][-1]["content"] for request in scripted.requests[1:]]
    assert any(schedule_line.written(judged) in text and "eager" in text for text in later)


def test_all_trials_of_a_models_program_become_a_grid(swarm, scripted, only_eager, tmp_path):
    pytest.importorskip("pyarrow")
    scripted.script = [say(SCHEDULED)]
    _, _, progress = swarm(
        proposers=("policy",), dialects=("torch",), contexts=(), try_admitted=True,
        budget_tokens=ONE_CALL_TOKENS,
    )  # fmt: skip
    rows = build_grid([str(tmp_path / "archive.sqlite")], out=tmp_path / "grid", command="")
    assert len(rows) == max(report.n_trials for report in progress) > 2
    assert sum(row.is_as_written for row in rows) == 1
    assert len({row.program for row in rows}) == 1


def test_models_write_metal_where_there_is_no_mac(swarm, scripted, at_once):
    if missing := msl_missing():
        pytest.skip(missing)
    wrong = METAL.replace("2.0f * max", "3.0f * max")
    scripted.script = [say(wrong), say(METAL), slow(1, say("no more"))]
    contexts = ("reference,verdicts,exemplars,other-dialect,device",)
    result, _, _ = swarm(device="metal", dialects=("metal",), contexts=contexts)
    assert statuses(result) == [Status.WRONG_VALUES, Status.PASSED]
    asked = [
        "\n".join(message["content"] for message in request["messages"])
        for request in scripted.requests
    ]
    assert "Strides are not passed" in asked[0] and "LIBRARY.add(a, b, self.scale" in asked[0]
    assert "threadgroup memory at most: 32 KiB" in asked[0]
