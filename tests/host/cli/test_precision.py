"""A receipt in reduced precision holds it, and is not repeated in another."""

import json

from tests.host.relu_task import RIGHT, TASK

from kernelwright.archive.receipt import Receipt
from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge


def test_a_receipt_holds_its_precision(folder, kernelwright, fork_server):
    candidate = Candidate(RIGHT, "torch")
    with Judge(
        Task("task", "kernelbench", TASK),
        settings=Settings(precision="bf16"),
        fork_server=fork_server,
    ) as judge:
        found = judge.evaluate(candidate, timed=False)
        Receipt(judge.task, candidate, found).write(folder / "r.json")
    told = json.loads((folder / "r.json").read_text())
    assert told["verdict"]["environment"]["facts"]["precision"] == "bf16"
    assert 'PRECISION = "bf16"' in told["task"]["source"]
    done = kernelwright("judge", "--repeat", "r.json", "--precision", "fp16")
    assert done.returncode == 2 and "a receipt has its own precision" in done.stderr
