"""Datasets from archives: kept candidates, prompts and answers, and tasks that are left out."""

import dataclasses
import json

import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")

from tests.null.archive.nouns import verdict

from kernelwright.archive import Archive
from kernelwright.cli import main
from kernelwright.core.call import EXAM, Call, Outcome
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import ArchiveError, UsageError
from kernelwright.core.evaluation import Environment, Timing
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.dataset import build_dataset, open_pairs
from kernelwright.dataset.answer import VARIANTS
from kernelwright.dataset.rows import archive_name
from kernelwright.proposers.rules.variants import variants
from kernelwright.proposers.swarm.answer import read
from kernelwright.suites.composed import compose
from kernelwright.suites.composed.lessons import PROPOSER, lessons, prose
from kernelwright.suites.suite import builtin_suite

KERNEL = '''\
import ctypes
import torch

TEXT = """
int kernel_{n};
"""


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ctypes.CDLL("x").run(x)
'''
RULE = "two factors are one"
TASK = next(iter(compose(1, seed=2, size="small", families=["pointwise"]))).task
MACHINE = Environment("cpu", {"threads": 2, "processor": "another", "torch": "2"})


def proposal(n: int, **said) -> Proposal:
    told = {
        "lineage": (RULE, "fused"),
        "schedule": {"variant": "fused", "kernels": {"fused_add": {"block": 64}}},
    }
    return Proposal(Candidate(KERNEL.format(n=n), "cpp"), "rules", **told | said)


def fill(path, task: Task, judged) -> str:
    """Create an archive with verdicts, given as (proposal, fields of the verdict), for a task."""
    with Archive(path) as archive:
        workload = Workload(task.digest, (("float32", (4,)),))
        archive.add_task(task, [workload])
        run = archive.start_run(task, Settings())
        for said, found in judged:
            archive.add_proposal(run, said)
            told = {"task": task.digest, "workload": workload.digest, "environment": MACHINE}
            archive.add_evaluation(run, verdict(said.candidate, **told | found))
        archive.finish_run(run)
    return str(path)


WRONG = {"status": Status.WRONG_VALUES}
BROKEN = {"status": Status.INFRA_ERROR}


def test_a_row_has_the_swarms_prompt_and_an_answer_in_three_parts(tmp_path):
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {"kinds": ("kernel",)})])
    build_dataset([url], out=tmp_path / "out")
    (pair,) = open_pairs(tmp_path / "out")
    assert (pair.task_digest, pair.origin, pair.status) == (TASK.digest, "rules", "passed")
    assert (pair.speedup, pair.kinds) == (pytest.approx(1.333, abs=0.001), ("kernel",))
    assert pair.prompt[0][0] == "system" and pair.prompt[-1][0] == "user"
    assert TASK.source.strip() in pair.prompt[-1][1]
    assert read(pair.answer, "cpp").code == pair.code
    parts = [line for line in pair.answer.splitlines() if line.startswith("## ")]
    assert parts == ["## Performance analysis", "## Algorithm design", "## Code"]
    for fact in (RULE, "associativity", "fused_add", "block 64", "1.3 times as fast"):
        assert fact in pair.answer
    told = json.loads(pair.provenance)
    assert told["candidate"] == proposal(1).candidate.digest
    assert (told["licence"], told["strongest"]) == ("Apache-2.0", "compile")
    assert told["archive"] == "a.sqlite"


def test_only_judged_candidates_are_kept_and_each_text_once(tmp_path):
    again = dataclasses.replace(
        proposal(1), candidate=Candidate("# a remark\n" + KERNEL.format(n=1), "cpp")
    )
    judged = [(proposal(1), {}), (again, {}), (proposal(2), WRONG), (proposal(3), BROKEN)]
    url = fill(tmp_path / "a.sqlite", TASK, judged)
    build_dataset([url, url], out=tmp_path / "out")
    assert [pair.status for pair in open_pairs(tmp_path / "out")] == ["passed", "wrong_values"]


def test_the_number_of_kept_candidates_and_of_failures_is_limited(tmp_path):
    judged = [(proposal(n), {} if n % 2 else WRONG) for n in range(20)]
    url = fill(tmp_path / "a.sqlite", TASK, judged)
    dataset = build_dataset([url], out=tmp_path / "out", keep=4)
    assert [pair.status for pair in dataset.pairs] == ["passed"] * 3 + ["wrong_values"]


def test_slower_kernels_are_kept_beside_the_fastest_down_to_the_slowest(tmp_path):
    judged = []
    for n in range(1, 13):
        samples = {"candidate": (100 * n,) * 8, "compile": (600,) * 8}
        timing = Timing(samples, strongest="compile", clock="parent", cache="cold")
        judged.append((proposal(n), {"timing": timing}))
    url = fill(tmp_path / "a.sqlite", TASK, judged)
    *pairs, shown = build_dataset([url], out=tmp_path / "out", keep=6).pairs
    assert [round(6 / pair.speedup) for pair in pairs] == [1, 2, 3, 7, 10, 12]
    assert shown.code == pairs[0].code


def timed(us: int, spread: int = 0) -> dict[str, Timing]:
    samples = {"candidate": (100 * us - spread, 100 * us + spread) * 4, "compile": (600,) * 8}
    return {"timing": Timing(samples, strongest="compile", clock="parent", cache="cold")}


def test_a_contrastive_pair_shows_kernels_that_are_certainly_slower(tmp_path):
    """A policy that never saw kernels in a prompt would return those of contrastive training
    unchanged."""
    close = (proposal(2), timed(2, spread=150))
    judged = [(proposal(1), timed(1)), close, (proposal(3), timed(3)), (proposal(4), WRONG)]
    url = fill(tmp_path / "a.sqlite", TASK, judged)
    *plain, shown = build_dataset([url], out=tmp_path / "out").pairs
    assert [pair.prompt == plain[0].prompt for pair in plain] == [True] * 4
    assert (shown.code, shown.answer) == (plain[0].code, plain[0].answer)
    assert (
        "kernel_3" in shown.prompt[-1][1] and "2.00 (2.00 to 2.00) × compile" in shown.prompt[-1][1]
    )
    assert not any(name in shown.prompt[-1][1] for name in ("kernel_1", "kernel_2", "kernel_4"))
    assert json.loads(shown.provenance)["shown"] == [proposal(3).candidate.digest]
    assert "worth nothing" in shown.prompt[-1][1] and "worth nothing" not in plain[0].prompt[-1][1]


def test_an_untimed_contrastive_pair_shows_another_untimed_kernel(tmp_path):
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(n), {"timing": None}) for n in (1, 2)])
    first, second, shown = build_dataset([url], out=tmp_path / "out").pairs
    assert shown.code == first.code != second.code
    assert "### other: passed\n" in shown.prompt[-1][1]


def test_tasks_of_an_exam_are_excluded(tmp_path):
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {})])
    with Archive(url) as archive:
        (run,) = archive.runs(TASK.digest)
        call = Call(
            id="1", model="hf:x", purpose=EXAM, context=(), template="generator-3", dialect="cpp",
            parameters={}, messages=(), answer="", outcome=Outcome.ANSWERED,
        )  # fmt: skip
        archive.add_call(run.id, call)
    dataset = build_dataset([url], out=tmp_path / "out")
    assert [(left.reason, left.detail) for left in dataset.left] == [("test", "examined")]


def test_verdicts_of_an_earlier_judge_version_are_ignored(tmp_path):
    judged = [(proposal(1), {"judge_version": 1}), (proposal(2), {"judge_version": 2})]
    url = fill(tmp_path / "a.sqlite", TASK, judged)
    (pair,) = build_dataset([url], out=tmp_path / "out").pairs
    assert pair.code == proposal(2).candidate.source


def renamed(task: Task) -> Task:
    """Return the task with other names and other numbers."""
    source = task.source.replace('SIZE = "small"', 'SIZE = "cpu"').replace(
        "self.scale", "self.gain"
    )
    return dataclasses.replace(task, name="mine", origin="module", source=source + "\n# mine\n")


def test_a_renamed_test_task_is_excluded(tmp_path):
    (entry,) = (e for e in builtin_suite(size="small") if e.name == "elementwise_chain")
    url = fill(tmp_path / "a.sqlite", renamed(entry.task), [(proposal(1), {})])
    fill(tmp_path / "a.sqlite", TASK, [(proposal(2), {})])
    dataset = build_dataset([url], out=tmp_path / "out")
    assert {pair.task_digest for pair in dataset.pairs} == {TASK.digest}
    (left,) = dataset.left
    assert (left.name, left.reason, left.detail) == ("mine", "test", "elementwise_chain")


def test_tasks_in_an_excluded_folder_are_left_out(tmp_path):
    folder = tmp_path / "KernelBench" / "level2"
    folder.mkdir(parents=True)
    (folder / "7_x.py").write_text(TASK.source.replace("batch_size", "n").replace("rows", "m"))
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {})])
    dataset = build_dataset([url], out=tmp_path / "out", exclude=[tmp_path])
    assert dataset.pairs == () and [left.reason for left in dataset.left] == ["test"]


def test_tasks_of_one_structure_are_in_one_split(tmp_path):
    same = dataclasses.replace(TASK, source=TASK.source + "\n# another digest\n")
    for n, task in enumerate((TASK, same)):
        url = fill(tmp_path / "a.sqlite", task, [(proposal(n), {})])
    dataset = build_dataset([url], out=tmp_path / "out")
    assert len(dataset.pairs) == 2 and len(dataset.counts) == 1


def test_the_card_has_counts_and_no_local_folders(tmp_path):
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {}), (proposal(2), WRONG)])
    build_dataset([url], out=tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "2 training pairs of 1 tasks" in card
    assert "| rules | cpp | cpu | 2 |" in card and "| Apache-2.0 | composed | 2 |" in card
    assert "a.sqlite" in card and str(tmp_path) not in card


def test_an_archive_is_named_without_its_password():
    assert archive_name("postgresql://me:secret@host/kernels") == "kernels"


def test_a_password_of_the_command_is_not_in_the_card(tmp_path, monkeypatch):
    url = "sqlite://me:hunter2 secret@/" + fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {})])
    words = ["dataset", "build", "--archive", url, "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", ["kernelwright", *words])
    assert CliRunner().invoke(main, words).exit_code == 0
    card = (tmp_path / "out/README.md").read_text()
    assert "sqlite://me:***@/" in card and "secret" not in card


def test_every_variant_of_the_rules_is_described():
    assert {v.name for kind in ("cpu", "cuda") for v in variants(kind)} <= VARIANTS.keys()


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"archives": []}, UsageError, "neither an archive nor a grid is given"),
        ({"archives": ["nowhere.sqlite"]}, ArchiveError, "nowhere.sqlite"),
        ({"keep": 0}, UsageError, "the dataset would be empty"),
        ({"exclude": ["nowhere"]}, UsageError, "no tasks to exclude"),
    ],
)
def test_bad_input_is_one_error(tmp_path, told, error, said):
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {})])
    given = {"archives": [url], "out": tmp_path / "out"} | told
    with pytest.raises(error, match=said):
        build_dataset(given.pop("archives"), **given)


def test_an_unwritable_folder_is_reported_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelwright.dataset.build.excluded_tasks", lambda _: pytest.fail("late"))
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {})])
    with pytest.raises(OSError, match=r"a\.sqlite"):
        build_dataset([url], out=tmp_path / "a.sqlite")
    (tmp_path / "README.md").write_text("# My project")
    with pytest.raises(UsageError, match="no data card"):
        build_dataset([url], out=tmp_path)
    assert (tmp_path / "README.md").read_text() == "# My project"


def test_a_table_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {})])
    out = build_dataset([url], out=tmp_path / "out").folder

    def fail(table, where, **_):
        where.write_bytes(b"half")
        raise OSError("no room")

    monkeypatch.setattr("pyarrow.parquet.write_table", fail)
    with pytest.raises(OSError, match="no room"):
        build_dataset([url], out=out)
    assert len(open_pairs(out)) == 1
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "pairs.parquet"]


def test_the_commands(tmp_path):
    url = fill(tmp_path / "a.sqlite", TASK, [(proposal(1), {})])
    out = str(tmp_path / "out")
    done = CliRunner().invoke(main, ["dataset", "build", "--archive", url, "--out", out])
    assert done.exit_code == 0 and "1 pairs in" in done.output
    words = ["tasks", "generate", "--count", "2", "--size", "small", "--out", str(tmp_path / "t")]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert len(list((tmp_path / "t").glob("*.py"))) == 2
    again = CliRunner().invoke(main, words)
    assert again.exit_code == 2 and "already holds tasks" in again.output


def test_a_lesson_is_answered_in_few_words(tmp_path):
    lesson = next(lessons(1, seed=1, forms=["scan"]))
    said = Proposal(lesson.candidate, PROPOSER, lineage=("scan",))
    url = fill(tmp_path / "a.sqlite", lesson.task, [(said, {"timing": None})])
    (pair,) = build_dataset([url], out=tmp_path / "pairs").pairs
    before, _, code = pair.answer.partition("```python\n")
    assert prose("scan")[0] in before and prose("scan")[1] in before
    assert len(before) < 200
    assert read(pair.answer, "triton").code == code.removesuffix("```\n") == pair.code
