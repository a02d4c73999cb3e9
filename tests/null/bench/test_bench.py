"""The tasks that a bench runs, those that it takes from the archive, and its answer."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.null.archive.nouns import proposal, verdict
from tests.null.shown import shown

from kernelwright import bench
from kernelwright.archive import Archive
from kernelwright.bench import known, results
from kernelwright.cli import main
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.core.settings import Settings
from kernelwright.core.task import Workload
from kernelwright.judge import JUDGE_VERSION
from kernelwright.judge.devices.environment import Here
from kernelwright.report.chapter import Chapter
from kernelwright.suites.suite import suite_entries
from kernelwright.workers.in_process import Ending
from kernelwright.workers.workers import LocalWorkers, Target


@pytest.fixture
def settings(tmp_path):
    return Settings(archive=str(tmp_path / "archive.sqlite"), out=str(tmp_path / "out"))


CPU = Device.parse("cpu")


def searched(entry, settings, *, version=JUDGE_VERSION, finished=True, facts=None, **then):
    """An archive with an earlier search of this task that found one winner."""
    said = proposal()
    told = Settings(archive=settings.archive, **then)
    here = Here.of(CPU, told)
    there = Environment("cpu", {**here.facts, **(facts or {})})
    with Archive(settings.archive) as archive:
        workload = Workload(entry.task.digest, (("float32", (64, 64)),))
        archive.add_task(entry.task, [workload])
        run = archive.start_run(entry.task, told)
        archive.add_proposal(run, said)
        found = verdict(
            said.candidate, task=entry.task.digest, judge_version=version, kinds=("kernel",),
            environment=there, workload=workload.digest,
        )  # fmt: skip
        archive.add_evaluation(run, found)
        if finished:
            archive.finish_run(run, ended(version, there))


def ended(version, there):
    return {"judge": version, "device": there.device, "environment": dict(there.facts)}


def first_entry():
    return suite_entries("builtin", device="cpu", problems=["softmax"])[0]


class Idle:
    """Workers that note the tasks that they are given, and do nothing on them."""

    jobs, gpus, n_devices = 1, (), 1

    def __init__(self, **ending):
        self.begun, self.told, self._ending = [], [], Ending(**ending)

    def target(self, settings):
        return Target.of(settings)

    def run(self, work, **how):
        task, *_ = work.args
        self.begun.append(task.name)
        self.told.append(work.keywords)
        return self._ending

    def interrupt(self):
        pass


@pytest.mark.parametrize(
    ("then", "runs"),
    [
        ({}, False),
        ({"budget_s": 90.0, "budget_usd": 1.0}, True),
        ({"budget_s": 90.0, "budget_tokens": 1000}, True),
        ({"budget_s": 90.0}, False),
        ({"budget_s": 30.0}, True),
        ({"finished": False}, True),
        ({"version": JUDGE_VERSION - 1}, True),
        ({"dialects": ("torch",)}, True),
        ({"proposers": ("rules", "swarm")}, True),
        ({"models": ("openai:x",)}, True),
        ({"contexts": ("reference",)}, True),
        ({"attached": ("notes.txt",)}, True),
        ({"seed": 1}, True),
        ({"timed": False}, True),
        ({"cache": "warm"}, True),
        ({"facts": {"threads": 99}}, True),
        ({"facts": {"torch": "1.0"}}, True),
        ({"facts": {"triton": "1.0"}}, True),
        ({"facts": {"compiler": "g++ 1.0"}}, True),
        ({"facts": {"cudnn_tf32": True, "precision": "tf32"}}, False),
    ],
)
def test_only_what_the_archive_lacks_is_searched(settings, then, runs):
    entry = first_entry()
    searched(entry, settings, **then)
    workers = Idle()
    (outcome,) = bench.run([entry], settings=settings, limit_s=1, workers=workers)
    assert workers.begun == (["softmax"] if runs else [])
    assert outcome.was_run and (outcome.earlier is None) is runs


def test_a_skipped_search_is_reported_with_its_date(settings):
    entry = first_entry()
    searched(entry, settings)
    (outcome,) = bench.run([entry], settings=settings, limit_s=1, workers=Idle())
    date = outcome.earlier.finished_at[:10]
    said = f"skipped: searched on {date} under judge {JUDGE_VERSION}, torch "
    assert said in results.line(outcome)
    told = results.answer("builtin", [outcome], settings).facts
    assert told["tasks"][0]["searched_at"] == outcome.earlier.finished_at


def test_looking_up_one_task_reads_no_other_task(settings, monkeypatch):
    entry, _ = suite_entries("builtin", device="cpu", problems=("softmax", "layer_norm"))
    here = Here.of(Device.parse("cpu"), settings)
    monkeypatch.setattr(Archive, "tasks", lambda self: pytest.fail("all tasks are read"))
    assert known.chapter(entry.task, settings, here) is None
    with Archive(settings.archive) as archive:
        archive.add_task(entry.task)
    assert known.chapter(entry.task, settings, here) is None


def test_verdicts_of_another_judge_version_make_no_chapter(settings, monkeypatch):
    """A repeated search reports its own figures, even if an older one was faster."""
    entry = first_entry()
    searched(entry, settings, facts={"torch": "1.0"})
    here = Here.of(CPU, settings)
    assert known.chapter(entry.task, settings, here) is None
    there = Here("cpu", {**here.facts, "torch": "1.0"})
    assert known.chapter(entry.task, settings, there).best is not None


@pytest.mark.parametrize(
    ("asked", "then", "now", "counts"),
    [
        ("cuda", "cuda:sm_90", "cuda:sm_90", True),
        ("cuda:1", "cuda:sm_90", "cuda:sm_90", True),
        ("cuda", "cuda:sm_80", "cuda:sm_90", False),
        ("cpu", "cpu", "cuda:sm_90", False),
    ],
)
def test_a_search_counts_on_every_device_of_the_same_model(settings, asked, then, now, counts):
    """This includes searches without verdicts, if the library was as fast as a copy."""
    task = first_entry().task
    with Archive(settings.archive) as archive:
        archive.add_task(task)
        run = archive.start_run(task, Settings(device=asked))
        archive.finish_run(run, ended(JUDGE_VERSION, Environment(then, {"gpu": "X"})))
    here = Here(now, {"gpu": "X"})
    assert (known.search_of(task, settings, here) is not None) is counts


def test_no_search_begins_when_the_time_is_over(settings):
    (outcome,) = bench.run(
        [first_entry()], settings=settings, limit_s=1, total_s=-1, workers=Idle()
    )
    assert not outcome.was_run
    told = results.answer("builtin", [outcome], settings)
    assert (told.exit_code, told.facts["not_run"]) == (1, ["softmax"])


@pytest.mark.parametrize("is_judged", [True, False])
def test_an_interrupted_search_is_not_a_failure(settings, is_judged):
    entry = first_entry()
    if is_judged:
        searched(entry, settings, finished=False)
    workers = Idle(is_interrupted=True)
    (outcome,) = bench.run([entry], settings=settings, limit_s=1, workers=workers)
    assert outcome.was_run is is_judged
    told = results.answer("builtin", [outcome], settings).facts
    assert told["not_run"] == ([] if is_judged else ["softmax"])
    if is_judged:
        page = Path(told["report"]).read_text()
        assert "Not finished" in page and "the search was interrupted" in page
    assert not any(level["n_failed"] for level in told["levels"])


def test_a_search_is_told_when_it_will_be_stopped(settings):
    workers = Idle(died="so that nothing is reported")
    bench.run([first_entry()], settings=settings, limit_s=77, workers=workers)
    assert workers.told == [{"limit_s": 77}]


def test_a_search_over_its_time_limit_is_stopped_and_reported(settings):
    entries = [first_entry()]
    with LocalWorkers() as workers:
        (outcome,) = bench.run(entries, settings=settings, limit_s=0.01, workers=workers)
    assert outcome.error["what"] == "the search was stopped"
    told = results.answer("builtin", [outcome], settings)
    assert told.facts["tasks"][0]["error"] == outcome.error
    assert told.facts["levels"][0]["n_failed"] == 1
    assert told.facts["levels"][0]["geometric_mean"] == 1.0


def test_the_answer_of_a_suite_is_written_beside_its_page(settings):
    entry = first_entry()
    searched(entry, settings)
    told = results.answer(
        "builtin", bench.run([entry], settings=settings, limit_s=1, workers=Idle()), settings
    )
    assert told.exit_code == 0
    assert told.facts["tasks"][0]["best"]["kinds"] == ["kernel"]
    page = Path(told.facts["report"])
    assert "By level" in page.read_text()
    assert '"suite": "builtin"' in page.with_suffix(".json").read_text()


def test_an_interrupt_while_writing_keeps_the_previous_answer(settings, monkeypatch):
    entry = first_entry()
    searched(entry, settings)
    outcomes = bench.run([entry], settings=settings, limit_s=1, workers=Idle())
    page = Path(results.answer("builtin", outcomes, settings).facts["report"])
    before = page.with_suffix(".json").read_text()

    def stopped(path, text, **how):
        with path.open("w") as file:
            file.write(text[:10])
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "write_chapters", lambda *_: page)
    monkeypatch.setattr(Path, "write_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        results.answer("builtin", outcomes, settings)
    assert page.with_suffix(".json").read_text() == before


def test_every_nth_problem_of_each_level(tmp_path):
    for level in (1, 2):
        folder = tmp_path / "KernelBench" / f"level{level}"
        folder.mkdir(parents=True)
        for number in range(1, 8):
            (folder / f"{number}_task.py").write_text("class Model: ...")
    chosen = suite_entries("kernelbench", device="cpu", path=tmp_path, levels=[2], every=3)
    assert [(e.level, e.problem) for e in chosen] == [("2", 1), ("2", 4), ("2", 7)]


@pytest.mark.parametrize("command", [["optimize"], ["bench"], ["judge", "."]])
@pytest.mark.parametrize(
    "words", [["--level", "1,2"], ["--levels", "1,2"], ["--level", "1", "--level", "2"]]
)
def test_level_options_are_the_same_in_every_suite_command(monkeypatch, command, words):
    def noted(suite, *, levels, **told):
        raise UsageError("levels", seen=repr(levels))

    for module in ("optimize", "bench", "judge"):
        monkeypatch.setattr(f"kernelwright.cli.commands.{module}.suite_entries", noted)
    words = [*command, "--suite", "kernelbench", "--path", ".", *words]
    assert "(1, 2)" in CliRunner().invoke(main, words).output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite", "port", "--every", "2"], "--every"),
        (["--suite", "builtin", "--hipify", "x"], "--hipify"),
        (["--suite", "builtin", "--levels", "1"], "leave the levels out"),
        (["--suite", "kernelbench"], "--path"),
        (["--suite", "kernelbench", "--path", ".", "--levels", "one"], "--level is not"),
        (["--suite", "port", "--level", "1"], "--level does not belong"),
        (["--suite", "port", "--problem", "scann"], '"scan"'),
        (["--suite", "port", "--hipify", "nowhere"], "hipify-perl"),
        (["--suite", "builtin", "--policy", "nowhere"], "no checkpoint at nowhere"),
        (["--suite", "builtin", "--policy", "x", "--budget", "5s"], "searches nothing"),
        (["--suite", "builtin", "--samples", "2"], "--policy"),
        (["--suite", "port", "--policy", "x"], "--policy does not belong"),
    ],
)
def test_wrong_use_is_one_error(words, said):
    found = CliRunner().invoke(main, ["bench", *words])
    assert found.exit_code == 2
    assert said in found.output


def test_a_task_that_is_not_in_the_suite():
    with pytest.raises(UsageError, match="softmaxx"):
        suite_entries("builtin", device="cpu", problems=["softmaxx"])


def outcome_of(entry, pair):
    chapter = Chapter(entry.task, "cpu", [pair], [], 0)
    return bench.TaskOutcome(entry, chapter)


def test_line_table_and_json_of_a_suite_say_undecided_and_mark_tf32(settings):
    entry, said = first_entry(), proposal()
    found = verdict(said.candidate, kinds=("kernel",))
    samples = {"candidate": (10, 12, 20), "eager": (20, 22, 24), "compile": (15, 14, 16)}
    wide = replace(found, timing=replace(found.timing, samples_ns=samples))
    undecided = outcome_of(entry, (said, wide))
    assert "undecided: cpp 1.17 (0.80–1.50) × compile" in results.line(undecided)
    tf32 = replace(found, warnings=(Warned(WarningCode.TF32, "errors as TF32 has"),))
    marked = outcome_of(entry, (said, tf32))
    answer = results.answer("builtin", [undecided, marked], settings)
    first, second = answer.facts["tasks"]
    assert (first["outcome"], first["best"]) == ("undecided", None)
    assert first["undecided"]["digest"] == said.candidate.digest
    assert second["outcome"] == "won" and second["best"]["tf32"] is True
    (level,) = answer.facts["levels"]
    assert (level["n_won"], level["n_undecided"], level["n_tf32"]) == (1, 1, 1)
    assert level["geometric_mean"] > 1 == level["without_tf32"]
    text = " ".join(shown(answer).split())
    assert "undecided" in text and "kernel tf32" in text and "2: 1, 1, 0" in text
