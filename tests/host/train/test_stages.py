"""All three stages on a CPU with TRL's trainers and the real judge, also after a kill."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.host.swarm.candidates import TASK

pytest.importorskip("trl", reason="needs kernelwright[train]")
from tests.host.train import tiny

from kernelwright.archive import Archive
from kernelwright.bench import exam, results
from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dataset.pairs import Pair
from kernelwright.llm import decode
from kernelwright.llm.chat import turn_end
from kernelwright.proposers.policy import CONTEXT, PolicyProposer
from kernelwright.proposers.swarm import prompt
from kernelwright.proposers.swarm.answer import read
from kernelwright.proposers.swarm.question import Question
from kernelwright.report.training import stages
from kernelwright.suites.suite import SuiteEntry
from kernelwright.train import recipe, train
from kernelwright.train.prompts import Prompts
from kernelwright.train.sft import tokens
from kernelwright.workers.workers import LocalWorkers

examined = partial(exam.run, workers=LocalWorkers(), max_tokens=3)
TASKS = [Task("one", "dataset", TASK), Task("two", "dataset", TASK.replace("* 2", "* 3"))]


def pair(task, answer, status="passed", split="train"):
    brief = Brief(task, Device.parse("cpu"), ("cpp",))
    return Pair(
        task_digest=task.digest, task_name=task.name, task_source=task.source, dialect="cpp",
        device="cpu", prompt=prompt.generator(brief, Question("write", "cpp"), CONTEXT),
        answer=answer, code="", status=status, kinds=(), speedup=None, speedup_low=None,
        speedup_high=None, origin="rules", split=split, provenance="{}",
    )  # fmt: skip


# A dataset may be mistaken, as the third lesson is: the stages after sft learn from the judge.
PAIRS = [pair(TASKS[0], answer) for answer in tiny.ANSWERS]
PAIRS += [pair(TASKS[0], "?", status="wrong_values"), pair(TASKS[1], "?", split="validation")]
COMMON = {"batch": 8, "max_tokens": 3, "max_prompt_tokens": 8000, "dialects": ("cpp",)}
ALONE = {"tasks": 1, "group": 8, "jobs": 1, "threads": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("train")


@pytest.fixture(scope="module")
def taught(folder):
    """A tiny model after sft on two correct kernels and a wrong one."""
    told = recipe(
        "sft", model=tiny.save(folder / "tiny"), out=str(folder / "out"), archive="", rank=0,
        learning_rate=0.03, steps=12, **COMMON,
    )  # fmt: skip
    return train(told, PAIRS)


@pytest.fixture(scope="module")
def rewarded(folder, taught):
    """The same model after steps that rewarded only correct kernels."""
    told = recipe(
        "selfsup", model=str(taught.model), out=str(folder / "out"), rank=0, steps=6,
        learning_rate=0.02, archive=str(folder / "archive.sqlite"), **COMMON, **ALONE,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "LOOK_EVERY", 1)  # of three: judged while others are written
        return train(told, PAIRS)


@pytest.fixture(scope="module")
def contrasted(folder, rewarded):
    """The same model after a step with scored kernels in the prompt: (recipe, result)."""
    told = recipe(
        "contrastive", model=str(rewarded.model), out=str(folder / "out"), rank=4, steps=1,
        bare=0.0, archive=str(folder / "archive.sqlite"), **COMMON, **ALONE,
    )  # fmt: skip
    return told, train(told, PAIRS)


def test_lessons_lower_the_loss_and_leave_a_checkpoint(taught):
    losses = [line["loss"] for line in taught.curve if "loss" in line]
    assert losses[-1] < losses[0] / 2
    assert taught.steps == 12 and (taught.model / "config.json").exists()


def test_a_preferred_answer_becomes_likelier_than_a_rejected_one(taught, folder):
    pairs = [pair(TASKS[0], tiny.ANSWERS[0]), pair(TASKS[0], tiny.ANSWERS[2], "wrong_values")]
    told = recipe(
        "prefer", model=str(taught.model), out=str(folder / "prefer"), archive="", rank=0, steps=6,
        learning_rate=0.01, **COMMON,
    )  # fmt: skip
    trained = train(told, pairs)
    margins = [line["rewards/margins"] for line in trained.curve if "rewards/margins" in line]
    assert margins[0] == 0.0 and margins[-1] > 0.1, margins
    assert trained.steps == 6 and (trained.model / "config.json").exists()


def test_lessons_that_the_budget_ends_leave_a_checkpoint(folder):
    told = recipe(
        "sft", model=tiny.save(folder / "short"), out=str(folder / "short-out"), archive="",
        rank=0, epochs=10_000, budget_s=2.0, **COMMON,
    )  # fmt: skip
    trained = train(told, PAIRS)
    assert trained.model is not None and trained.steps < 10_000
    assert trained.curve[-1]["time/used_s"] >= 2.0


def test_the_fast_judge_is_asked_for_no_cpp_and_every_audit_is_in_the_curve(folder, taught):
    told = recipe(
        "selfsup", model=str(taught.model), out=str(folder / "fast"), rank=4, steps=1,
        judge="fast", audit=1.0, archive=str(folder / "fast.sqlite"), **COMMON, **ALONE,
    )  # fmt: skip
    with pytest.raises(UsageError, match="cpp: the fast judge admits no text in it"):
        train(told, PAIRS)
    told = replace(told, dialects=("torch",))
    (line,) = [line for line in train(told, PAIRS).curve if "earned" in line]
    assert line["share/right"] == 0.0 and line["share/cheats"] == line["share/with_code"]
    assert line["audit/answers"] == 8 * line["share/with_code"] > 0
    with Archive(folder / "fast.sqlite") as archive:
        history = archive.history(TASKS[0].digest)
    verdicts = [found.passed and found.is_own for _, found in history]
    assert any(verdicts) == (line["audit/disputed"] > 0)


def test_a_model_learns_from_verdicts_which_of_its_kernels_are_right(rewarded, folder):
    shares = [line["share/right"] for line in rewarded.curve if "earned" in line]
    assert len(shares) == 6 and min(shares[:2]) < shares[-1] >= 0.75, shares
    with Archive(folder / "archive.sqlite") as archive:
        history = archive.history(TASKS[0].digest)
    statuses = {str(found.status) for _, found in history}
    assert statuses == {"passed", "wrong_values"}
    assert {proposal.proposer for proposal, _ in history} == {"policy"}
    # Each text was judged once, however often it was said: two, four with second measurements.
    assert len(history) <= 2 * len(tiny.ANSWERS)


def test_contrastive_prompts_show_judged_kernels_and_copies_are_detected(contrasted):
    _, trained = contrasted
    (line,) = [line for line in trained.curve if "earned" in line]
    assert line["share/right"] > 0 and line["share/copies"] > 0
    assert (trained.model.parent / "adapter" / "adapter_config.json").exists()


def test_updates_learn_more_than_once_from_the_same_verdicts(taught, folder):
    told = recipe(
        "contrastive", model=str(taught.model), out=str(folder / "updates"), rank=4, steps=4,
        updates=2, archive=str(folder / "archive.sqlite"), **COMMON, **ALONE,
    )  # fmt: skip
    trained = train(told, PAIRS)
    lines = [line for line in trained.curve if "loss" in line]
    assert ["share/right" in line for line in lines] == [True, False, True, False]


def test_a_second_turn_answers_the_verdict_on_the_first(taught, rewarded, folder, monkeypatch):
    followed = []

    def follow(prompts, asked, answer, judged):
        followed.append((judged.evaluation, plain(prompts, asked, answer, judged)))
        return followed[-1][1]

    plain = Prompts.follow
    monkeypatch.setattr(Prompts, "follow", follow)
    told = recipe(
        "selfsup", model=str(taught.model), out=str(folder / "turns"), rank=0, steps=1, turns=2,
        archive=str(folder / "archive.sqlite"), **COMMON, **ALONE,
    )  # fmt: skip
    trained = train(told, PAIRS)
    assert trained.model is not None and len(followed) == told.group
    for found, after in followed:
        shown = after.messages[-1][1]
        assert ("The judge found" in shown) == (found is not None)
    (line,) = [line for line in trained.curve if "earned" in line]
    first, last = line["share/right_first"], line["share/right_last"]
    assert first > 0 and line["share/right"] == pytest.approx((first + last) / 2)


def test_checkpoints_are_examined_side_by_side_and_answers_kept(taught, rewarded, folder):
    # The archive knows all that they can say but chatter, so nothing has to be judged here.
    settings = Settings(archive=str(folder / "archive.sqlite"), out=str(folder / "exam"), threads=1)
    wanted = exam.policies([str(taught.model), f"{rewarded.model}=12"], 3)
    entries = [SuiteEntry("1", 1, "one", TASKS[0])]
    sat = examined(entries, wanted, settings=settings)
    told = results.answer("folder", sat.outcomes, settings, sat.calls)
    before, after = told.facts["policies"]
    assert (before["n_answers"], after["n_answers"]) == (3, 12)
    assert after["right"]["share"] >= 0.5 and "sft/model" in before["policy"]
    assert "selfsup/model" in Path(told.facts["report"]).read_text()
    again = examined(entries, wanted, settings=settings, timed=False)
    assert again.calls == sat.calls
    more = examined(entries, wanted[:1], settings=settings, shown=2, timed=False)
    with Archive(settings.archive) as archive:
        calls = [c for c in archive.calls(TASKS[0].digest) if c.id in more.calls and c.is_shown]
        said = {c.answer for c in archive.calls(TASKS[0].digest) if c.model == wanted[0].name}
    assert (len(calls), len(more.calls)) == (2, 5)
    last = calls[0].messages[-1][1]
    kernels = [read(text, "cpp").code for text in said]
    assert any(code and code in last for code in kernels)  # its own, with what they came to
    once_more = examined(entries, wanted[:1], settings=settings, shown=2, timed=False)
    assert once_more.calls == more.calls
    five = exam.policies([f"{taught.model}=5"], 3)
    examined(entries, five, settings=settings, timed=False)
    with Archive(settings.archive) as archive:
        asked = [c for c in archive.calls(TASKS[0].digest) if c.model == five[0].name]
    seeds = [call.parameters["seed"] for call in asked if not call.is_shown]
    assert len(set(seeds)) == len(seeds) == 5  # two more, not the first two again


def test_the_archive_has_the_curves_of_its_stages(rewarded, folder):
    with Archive(folder / "archive.sqlite") as archive:
        found = {stage.name: stage for stage in stages(archive)}
    stage = found["out/selfsup"]
    logged = [line["share/right"] for line in rewarded.curve if "earned" in line]
    assert [step["share/right"] for step in stage.steps] == logged
    assert 0 < stage.n_judged < 48  # a text that was judged before is not judged again


def test_a_finished_stage_is_not_run_again(contrasted):
    told, trained = contrasted
    written = (trained.model / "config.json").stat().st_mtime_ns
    assert train(told, PAIRS).model == trained.model
    assert (trained.model / "config.json").stat().st_mtime_ns == written


def test_the_policy_proposer_samples_the_trained_checkpoint(taught):
    brief = Brief(TASKS[0], Device.parse("cpu"), ("cpp",), models=(str(taught.model),))
    proposer = PolicyProposer()
    proposer.check(brief)
    said: list[Proposal | Call] = []
    proposed: list[Proposal] = []
    for seed in range(20):  # chatter is among what it may say: a round may propose nothing
        said += proposer.propose(replace(brief, seed=seed))
        proposed = [item for item in said if isinstance(item, Proposal)]
        if proposed:
            break
    calls = [item for item in said if isinstance(item, Call)]
    assert {(call.model, call.context) for call in calls} == {(f"hf:{taught.model}", CONTEXT)}
    assert {item.proposer for item in proposed} == {"policy"}


def test_a_missing_policy_is_an_error(folder):
    for models, what in (((), "has no model"), ((str(folder / "nowhere"),), "no checkpoint")):
        brief = Brief(TASKS[1], Device.parse("cpu"), ("cpp",), models=models)
        with pytest.raises(UsageError, match=what):
            PolicyProposer().check(brief)


def test_a_killed_stage_resumes_from_its_last_checkpoint(folder):
    told = recipe(
        "sft", model=tiny.save(folder / "killed"), out=str(folder / "killed-out"), archive="",
        rank=0, steps=9, checkpoint_every=3, **COMMON,
    )  # fmt: skip
    script = (
        "from tests.host.train.test_stages import PAIRS\n"
        "from kernelwright.train import Recipe, train\n"
        f"train({told!r}, PAIRS)"
    )
    command = [sys.executable, "-c", script]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    saved = folder / "killed-out" / "sft" / "checkpoints" / "checkpoint-3" / "trainer_state.json"
    deadline = time.monotonic() + 120
    while not saved.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    torn = saved.parents[1] / "checkpoint-8"  # of a kill while it was written: the state comes last
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"half of it")
    trained = train(told, PAIRS)
    assert trained.steps == 9
    assert [line["step"] for line in trained.curve if "loss" in line] == list(range(1, 10))


def test_a_dataset_without_lessons_is_one_error(folder, taught):
    told = recipe("sft", model=str(taught.model), out=str(folder / "none"), archive="")
    with pytest.raises(UsageError, match="nothing to learn from"):
        train(told, [])
    with pytest.raises(UsageError, match="nothing to learn from"):
        train(replace(told, out=str(folder / "no triton"), dialects=("triton",)), PAIRS)


def test_no_such_model_is_one_error(folder):
    told = recipe("sft", model=str(folder / "nowhere"), out=str(folder / "no"), archive="")
    with pytest.raises(UsageError, match="no model"):
        train(told, PAIRS)
    with pytest.raises(UsageError, match="nothing to learn"):  # not an error about other options
        train(replace(told, dialects=("triton",)), PAIRS)


def test_a_stage_does_not_resume_with_another_dataset(taught, folder):
    told = recipe(
        "sft", model=str(folder / "tiny"), out=str(folder / "out"), archive="", rank=0,
        learning_rate=0.03, steps=13, **COMMON,
    )  # fmt: skip
    with pytest.raises(UsageError, match="begun with other options"):
        train(told, PAIRS[1:])


def test_an_answer_ends_with_the_end_token_of_the_chat_template():
    words = tiny.tokenizer()
    words.add_tokens(["<turn>"])
    assert turn_end(words) == words.eos_token_id
    words.chat_template = "{% for said in messages %}{{ said.content }}<turn>{% endfor %}"
    assert turn_end(words) == words.convert_tokens_to_ids("<turn>")
    lesson = tokens(words, [("user", "?")], "said")
    learned = [label for label in lesson["labels"] if label != -100]
    assert words.decode(learned) == "said\n<turn>"
