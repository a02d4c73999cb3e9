"""Receipts on the command line: one from the archive, and messages about a bad one."""

import json

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.archive.receipt import VERSION, Receipt
from kernelwright.archive.repetition import Repetition
from kernelwright.console import answers
from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings


@pytest.fixture
def receipt(tmp_path):
    candidate = proposal().candidate
    path = tmp_path / "receipt.json"
    return Receipt(TASK, candidate, verdict(candidate)).write(path)


def test_show_writes_the_receipt_of_the_last_verdict(ask, tmp_path):
    archive, said = tmp_path / "archive.sqlite", proposal()
    with Archive(archive) as opened:
        opened.add_task(TASK, [WORKLOAD])
        run = opened.start_run(TASK, Settings())
        opened.add_proposal(run, said)
        opened.add_evaluation(run, verdict(said.candidate, Status.WRONG_VALUES))
        opened.add_evaluation(run, verdict(said.candidate))
    words = ("show", said.candidate.digest, "--archive", archive, "--receipt", "r.json")
    assert ask(*words)[0] == 0
    assert Receipt.read(tmp_path / "r.json") == Receipt(
        TASK, said.candidate, verdict(said.candidate)
    )


def test_without_a_verdict_there_is_no_receipt(ask, tmp_path):
    archive = tmp_path / "archive.sqlite"
    with Archive(archive) as opened:
        opened.add_task(TASK)
        opened.add_proposal(opened.start_run(TASK, Settings()), proposal())
    words = ("show", proposal().candidate.digest, "--archive", archive, "--receipt", "r.json")
    code, answer = ask(*words)
    assert code == 2 and "never judged" in answer["error"]["seen"]


@pytest.mark.parametrize("place", ["task.py", "kernel.py"])
def test_a_receipt_is_not_written_over_another_file(ask, task, tmp_path, monkeypatch, place):
    (tmp_path / "kernel.py").write_text("class ModelNew: ...")
    before = (tmp_path / place).read_bytes()
    monkeypatch.setattr("kernelwright.search.loop.judge", lambda *_, **__: pytest.fail("judged"))
    code, answer = ask("judge", task, "kernel.py", "--receipt", place)
    assert code == 2 and "no receipt" in answer["error"]["what"]
    assert (tmp_path / place).read_bytes() == before


def test_a_receipt_is_written_over_an_earlier_one_and_leaves_nothing_beside(receipt, tmp_path):
    Receipt.read(receipt).write(receipt)
    assert Receipt.read(receipt).task == TASK
    assert list(tmp_path.iterdir()) == [receipt]


@pytest.mark.parametrize("place", [".", "task.py/r.json"])
def test_an_unwritable_receipt_is_reported_before_anything_is_judged(
    ask, task, tmp_path, monkeypatch, place
):
    (tmp_path / "kernel.py").write_text("class ModelNew: ...")
    monkeypatch.setattr("kernelwright.search.loop.judge", lambda *_, **__: pytest.fail("judged"))
    code, answer = ask("judge", task, "kernel.py", "--receipt", place)
    assert code == 2 and answer["error"]["what"] == "a file cannot be read or written"
    Receipt.require_place(tmp_path / "new" / "r.json")
    assert not list((tmp_path / "new").iterdir())


def damage(path):
    path.write_text(path.read_text()[:-40])


def change(path):
    told = json.loads(path.read_text())
    told["candidate"]["source"] += "\n# faster"
    path.write_text(json.dumps(told))


def renew(path):
    path.write_text(path.read_text().replace(f'"version": {VERSION}', f'"version": {VERSION + 1}'))


BAD = {
    "damaged": (damage, [], "not JSON"),
    "changed": (change, [], "the candidate's text"),
    "newer": (renew, [], f"format version {VERSION + 1}"),
    "absent": (lambda path: path.unlink(), [], "No such file"),
    "about another task": (lambda path: None, ["task.py"], "relu"),
    "beside a candidate": (lambda path: None, ["task.py", "candidate.py"], "candidate.py"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_receipt_that_cannot_be_repeated_is_one_error(run, ask, task, receipt, case):
    spoil, words, seen = BAD[case]
    spoil(receipt)
    code, out, err = run("judge", "--repeat", receipt, *words)
    assert (code, out) == (2, "") and err.count("  do: ") == 1 and "Traceback" not in err
    code, answer = ask("judge", "--repeat", receipt, *words)
    assert code == 2 and seen in answer["error"]["seen"] and answer["error"]["do"]


def test_a_receipt_of_a_machine_with_more_cores_says_so(ask, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelwright.search.loop.judge", lambda *_, **__: pytest.fail("judged"))
    candidate = proposal().candidate
    for threads in (1000, 10**30):
        machine = Environment("cpu", {"threads": threads})
        receipt = Receipt(TASK, candidate, verdict(candidate, environment=machine))
        code, answer = ask("judge", "--repeat", receipt.write(tmp_path / "r.json"))
        assert code == 2 and "receipt's verdict" in answer["error"]["what"]
        assert str(threads) in answer["error"]["seen"] and "or 0 for all" in answer["error"]["do"]


@pytest.mark.parametrize(
    ("status", "stands", "code", "words"),
    [
        (Status.PASSED, True, 0, "stands"),
        (Status.WRONG_VALUES, False, 1, "does not stand"),
        (Status.INFRA_ERROR, None, 3, "could not be measured"),
    ],
)
def test_the_exit_code_says_whether_the_receipt_holds(status, stands, code, words):
    candidate = proposal().candidate
    elsewhere = Environment("cpu", {"cpu": "another", "threads": 2})
    after = verdict(candidate, status, environment=elsewhere)
    answer = answers.repetition(Repetition(Receipt(TASK, candidate, verdict(candidate)), after))
    assert (answer.facts["stands"], answer.exit_code) == (stands, code)
    assert answer.facts["notes"][-1] == "cpu: a 2-core machine → another"
    assert bool(answer.facts["differences"]) == (stands is not True)
    assert answer.facts["receipt"]["speedup"] and answer.facts["verdict"]["status"] == status
    assert words in answers.STANDS[stands]
